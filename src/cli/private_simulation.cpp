#include "private_simulation.hpp"

#include <fmt/format.h>

#include "couplet/core/error.hpp"
#include "format.hpp"
#include "mean_counts.hpp"

namespace couplet::cli {
namespace {

constexpr Index most_outlook_entries = Index{1} << 25;

void refuse_contradictions(const PrivacyFlags& flags) {
    const bool named = flags.mu || flags.epsilon;
    if (flags.mu && flags.epsilon) {
        throw InputError({"--mu", "given with --dp-epsilon", "one of them", "They are one budget with two spellings."});
    }
    if (flags.plain && (flags.secure || named)) {
        throw InputError({"--plain", "given with --secure, --mu or --dp-epsilon", "one or the other", ""});
    }
    if (named && (flags.policy == false || flags.mu_off)) {
        throw InputError({flags.mu_off ? "--mu" : "--policy", "off with a budget", "one or the other", ""});
    }
    if (flags.mu_off && flags.policy == true)
        throw InputError({"--mu", "off with --policy on", "one or the other", ""});
    if (flags.mu_off && !flags.secure) throw InputError({"--mu", "off without --secure", "--secure as well", ""});
    if (flags.policy == true && !flags.secure) {
        throw InputError({"--policy", "on without --secure", "--secure as well",
                          "Without masks each client's own sums are seen; --mu M adds noise to them."});
    }
}

}  // namespace

std::optional<BudgetOptions> budget_options(const PrivacyFlags& flags) {
    refuse_contradictions(flags);
    const auto mu = flags.budget();
    if (!mu) return std::nullopt;
    BudgetOptions budget;
    budget.mu = *mu;
    budget.delta = flags.delta;
    budget.clip = flags.clip;
    budget.masked = flags.secure;
    budget.place = flags.noise.value_or(flags.secure ? NoisePlace::distributed : NoisePlace::local);
    return budget;
}

Json budget_json(const BudgetReport& report) {
    Json json{{"secure", report.masked}, {"policy", "on"}, {"mu", report.mu}};
    if (report.withdrawn.empty()) {
        json["epsilon"] = report.guarantee.epsilon;
        json["delta"] = report.guarantee.delta;
        json["against"] = protects_against(report.place);
    } else {
        json["against"] = "nobody: " + report.withdrawn;
    }
    json["noise"] = to_string(report.place);
    if (report.threshold > 0) json["threshold"] = report.threshold;
    json["clip"] = report.clip;
    json["patients"] = static_cast<std::int64_t>(report.patients);
    for (const auto& [stage, sigma] : report.sigma) {
        json["split"][std::string(to_string(stage))] = report.split.part(stage);
        json["sigma"][std::string(to_string(stage))] = sigma;
    }
    json["sums"] = report.sigma.size();
    json["columns"] = report.columns;
    json["rank_worth"] = report.worth;
    if (report.error) {
        json["error"] = {{"rse", report.error->rse}, {"low", report.error->low}, {"high", report.error->high}};
    }
    json["not_covered"] = {"rse", "rse_heldout", "rse_per_client", "personal_ranks", "gain", "seconds"};
    return json;
}

void add_budget_rows(const BudgetReport& report, std::vector<std::pair<std::string, std::string>>& rows) {
    rows.emplace_back(
        "seen",
        fmt::format("{} noised sums{}{}", report.sigma.size(), report.masked ? " over all clients" : " of each client",
                    report.threshold > 0 ? fmt::format("; {} clients must stay to the end", report.threshold) : ""));
    rows.emplace_back("clipped", fmt::format("records at norm {}{}", number_text(report.clip),
                                             report.clip_given ? "" : ", a noised quantile"));
    if (!report.withdrawn.empty()) {
        rows.emplace_back("privacy", "none: " + report.withdrawn);
        return;
    }
    rows.emplace_back("privacy", fmt::format("mu {} for a patient (epsilon {} at delta {}), against {}",
                                             number_text(report.mu), number_text(report.guarantee.epsilon),
                                             number_text(report.guarantee.delta), protects_against(report.place)));
    if (report.error) {
        rows.emplace_back("stated error", fmt::format("RSE {} ({} to {}) of clipped records, from noised sums",
                                                      number_text(report.error->rse), number_text(report.error->low),
                                                      number_text(report.error->high)));
    }
    rows.emplace_back("", "RSE and personal cores above are not part of it: they stay with the clients");
}

std::optional<MaskedOutlook> masked_outlook(const ClientSource& source, const SimulationOptions& options, Index rank,
                                            Index entries) {
    if (source.clients() < 3 || entries > most_outlook_entries || options.scale_clients) return std::nullopt;
    SimulationOptions how{.heldout = options.heldout, .schema = options.schema, .names = options.names};
    how.job.network = options.job.network;
    how.job.graph = options.job.graph;
    how.job.seed = options.job.seed;
    how.job.unnamed = options.job.unnamed;
    how.job.rank = rank;
    BudgetOptions budget;
    budget.repeatable_noise = options.job.seed;
    try {
        const auto result = simulate_budget(source, std::move(how), budget).simulation;
        return MaskedOutlook{budget.mu, result.rse, result.bytes_up + result.bytes_down, result.rounds};
    } catch (const InputError&) {
        return std::nullopt;  // no masked job of these data: more labels than its sums may have, say
    }
}

Json outlook_json(const MaskedOutlook& outlook) {
    return {{"mu", outlook.mu},
            {"rse", outlook.rse},
            {"bytes_total", static_cast<std::int64_t>(outlook.bytes_total)},
            {"rounds", outlook.rounds}};
}

std::string outlook_text(const MaskedOutlook& outlook) {
    return fmt::format("with --secure: RSE {} at mu {}, {} in all, {} rounds; --plain leaves this line out",
                       number_text(outlook.rse), number_text(outlook.mu), size_text(outlook.bytes_total),
                       outlook.rounds);
}

Json expected_json(const std::vector<ExpectedError>& errors) {
    Json json = Json::array();
    for (const ExpectedError& one : errors) {
        json.push_back({{"mu", one.mu ? Json(*one.mu) : Json("off")}, {"rse", one.rse}});
    }
    return json;
}

std::string expected_text(const std::vector<ExpectedError>& errors) {
    std::vector<std::string> parts;
    for (const ExpectedError& one : errors) {
        parts.push_back(fmt::format("{} at mu {}", number_text(one.rse), one.mu ? number_text(*one.mu) : "off"));
    }
    return fmt::format("RSE of new patients with typical sparse records: {}", fmt::join(parts, ", "));
}

}  // namespace couplet::cli
