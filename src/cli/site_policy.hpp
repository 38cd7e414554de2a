#pragma once

#include <optional>
#include <string>

#include "couplet/net/consent.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "couplet/net/privacy_book.hpp"

namespace couplet::cli {

class Command;

/// --policy FILE|on|off of a party with data.
void add_policy_flag(Command& app, std::string& value);

/// A file, "off", or "on": the kit's own, or the defaults where those are stricter. Without the flag the kit's own, or
/// the defaults where it has none. Nothing: no policy.
std::optional<net::SitePolicy> site_policy(const std::string& flag, const net::Kit& kit);

/// Warns when there is none, or of keys by which it allows what the defaults refuse.
void tell_policy(const std::optional<net::SitePolicy>& policy, net::Log& log);

/// File of the kit that says what jobs have seen.
inline constexpr const char* ledger_file = "disclosed.jsonl";

inline constexpr const char* account_file = "privacy-account.txt";

/// Whoever agrees to masked sums.
struct SumSite {
    net::Consent& consent;
    net::PrivacyBook& book;
    net::DisclosureLedger& ledger;
    const std::optional<net::SitePolicy>& policy;
    const Tensor<double>& x;
    net::Log& log;
};
/// Holds what masked sums have come to against the policy and the budget; throws InputError to refuse. Books nothing:
/// nothing has been shown.
void agree_to_plan(const ShieldPlan& plan, const std::string& job, const SumSite& site);
/// Books what a sum shows, and what noise spends, before numbers leave; throws InputError to refuse.
void agree_to_sum(const MaskedSum& sum, const std::string& job, const SumSite& site);

/// The policy's guard over this data.
net::Consent make_consent(const net::SitePolicy& policy, const Tensor<double>& x);

}  // namespace couplet::cli
