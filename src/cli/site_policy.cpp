#include "site_policy.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "couplet/privacy/records.hpp"

namespace couplet::cli {

void add_policy_flag(CLI::App& app, std::string& value) {
    app.add_option(
           "--policy", value,
           "What this site answers: a file, on (the defaults) or off. Without it policy.toml in the kit, or the "
           "defaults: at least 6 patients, a rank of at most half of them")
        ->type_name("FILE|on|off");
}

std::optional<net::SitePolicy> site_policy(const std::string& flag, const net::Kit& kit) {
    if (flag == "off") return std::nullopt;
    if (flag == "on") return net::SitePolicy{};
    if (!flag.empty()) return net::load_policy(flag);
    const auto own = kit.file("policy.toml");
    // A link that leads nowhere is a policy that cannot be read, not none.
    return std::filesystem::exists(std::filesystem::symlink_status(own)) ? net::load_policy(own) : net::SitePolicy{};
}

net::Consent make_consent(const net::SitePolicy& policy, const Tensor<double>& x) {
    const auto sizes = x.shape().sizes();
    // Empty records and copies of one hide nobody.
    return {policy, count_patients(x.view()), Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()))};
}

}  // namespace couplet::cli
