#include "site_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/privacy/records.hpp"

namespace couplet::cli {

void add_policy_flag(Command& app, std::string& value) {
    app.add_option(
           "--policy", value,
           "What this site answers: a file, off, or on (what both policy.toml in the kit and the defaults allow). "
           "Without it policy.toml in the kit, or the defaults: at least 6 patients, of whom all jobs together see at "
           "most half as many directions")
        .type("FILE|on|off");
}

std::optional<net::SitePolicy> site_policy(const std::string& flag, const net::Kit& kit) {
    if (flag == "off") return std::nullopt;
    if (!flag.empty() && flag != "on") return net::load_policy(flag);
    const auto own = kit.file("policy.toml");
    // A link that leads nowhere is a policy that cannot be read, not none.
    const bool has_own = std::filesystem::exists(std::filesystem::symlink_status(own));
    const net::SitePolicy policy = has_own ? net::load_policy(own) : net::SitePolicy{};
    return flag == "on" ? net::stricter(policy, net::SitePolicy{}) : policy;
}

void tell_policy(const std::optional<net::SitePolicy>& policy, net::Log& log) {
    if (!policy) return log.warn("policy", "no policy: whatever the coordinator asks is answered");
    const auto keys = net::relaxed_keys(*policy);
    if (keys.empty()) return;
    log.warn("policy", fmt::format("this site's policy allows what the defaults refuse: {}", fmt::join(keys, ", ")));
}

namespace {

PrivacyGuarantee budget_of(const SumSite& site) {
    return site.policy ? PrivacyGuarantee{site.policy->dp_epsilon, site.policy->dp_delta} : PrivacyGuarantee{};
}

void spend(const NoisePlan& noise, const std::string& job, const SumSite& site) {
    const net::Cohort patients = net::make_cohort(site.x, 0, 0, 0);
    site.ledger.enter(patients);
    const auto related = site.ledger.related(patients);
    const std::size_t before = site.book.account().entries().size();
    site.book.spend(patients.id, job, noise, budget_of(site), related);
    if (site.book.account().entries().size() == before) return;  // booked with an earlier sum
    const double delta = noise.guarantee.delta;
    site.log.info("spent", fmt::format("all jobs on this data together are epsilon {:.3g} at delta {:.3g}, mu {:.3g}",
                                       site.book.spent_epsilon(patients.id, delta, related), delta,
                                       site.book.mu_with(patients.id, job, noise, related)));
}

}  // namespace

void agree_to_plan(const ShieldPlan& plan, const std::string& job, const SumSite& site) {
    site.consent.vet_plan(plan);
    for (const auto& change : plan.changes) site.log.info("policy", "policy: " + change);
    if (plan.noise) {
        const net::Cohort patients = net::make_cohort(site.x, 0, 0, 0);
        site.book.require_room(patients.id, job, *plan.noise, budget_of(site), site.ledger.related(patients));
        const std::string weak =
            plan.mu ? "" : weakness(plan.noise->guarantee, static_cast<std::int64_t>(patients.records.size()));
        if (!weak.empty()) site.log.warn("guarantee", "the guarantee is weak: " + weak);
    }
    site.log.info("plan", fmt::format("{} sums that show {} directions of {}", plan.sums, plan.directions,
                                      plan.noise ? "the data, with noise"
                                                 : fmt::format("{} patients of all clients", plan.patients)));
}

void agree_to_sum(const MaskedSum& sum, const std::string& job, const SumSite& site) {
    site.consent.vet_sum(sum);
    // With every sum: what the job spent before may have been under another promise.
    if (sum.plan.noise && !sum.agreed) spend(*sum.plan.noise, job, site);
}

net::Consent make_consent(const net::SitePolicy& policy, const Tensor<double>& x) {
    const auto sizes = x.shape().sizes();
    // Empty records and copies of one hide nobody.
    return {policy, count_patients(x.view()), Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()))};
}

}  // namespace couplet::cli
