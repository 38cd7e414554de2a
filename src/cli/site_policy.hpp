#pragma once

#include <optional>
#include <string>

#include "couplet/net/consent.hpp"
#include "couplet/net/kit.hpp"

namespace CLI {
class App;
}

namespace couplet::cli {

/// --policy FILE|on|off of a party with data.
void add_policy_flag(CLI::App& app, std::string& value);

/// "on" and "off", or a file; without the flag the kit's own, or the defaults where it has none. Nothing: no policy.
std::optional<net::SitePolicy> site_policy(const std::string& flag, const net::Kit& kit);

/// The policy's guard over this data.
net::Consent make_consent(const net::SitePolicy& policy, const Tensor<double>& x);

}  // namespace couplet::cli
