#include "disclosure_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "couplet/privacy/secret.hpp"
#include "couplet/wire/hex.hpp"

namespace couplet::net {
namespace {

std::string hash_of(const void* data, std::size_t size) {
    return wire::to_hex(hash_bytes({static_cast<const std::uint8_t*>(data), size}));
}
std::string hash_of(const std::string& text) { return hash_of(text.data(), text.size()); }
std::string hash_of(std::span<const double> numbers) { return hash_of(numbers.data(), numbers.size_bytes()); }

}  // namespace

std::string basis_name(const Matrix<double>& basis) {
    if (basis.size() == 0) return "gram";
    return hash_of(std::span(basis.data(), static_cast<std::size_t>(basis.size())));
}

void DisclosureNames::set_order(const Labels& labels) {
    order_.clear();
    for (const ModeLabels& mode : labels) {
        std::string text;
        for (const auto& label : mode.entries) text += label + "\n";
        order_ += " " + hash_of(text);
    }
}

void DisclosureNames::set_centring(const Centring& centring) {
    moved_ = " moved " + hash_of(centring.mean) + " " + hash_of(centring.scale);
}

/// What is done to the records: of records that were moved or scaled other directions are seen.
std::string DisclosureNames::prepared() const { return (spec_.preparation.scale_clients ? " scaled" : "") + moved_; }

std::string DisclosureNames::rows() const {
    const bool stack = spec_.job.aggregate == Aggregate::stack;
    return (stack ? "" : std::string(to_string(spec_.job.aggregate))) + prepared();
}

std::string DisclosureNames::sum(const Matrix<double>& basis, std::uint32_t attempt) const {
    std::string name = basis_name(basis) + prepared() + order_;
    // What is filled in is another sum every time.
    if (spec_.missing) name += fmt::format(" {} {}", job_, attempt);
    return name;
}

std::string DisclosureNames::feature_sums(Index parts) const { return fmt::format("features {}{}", parts, order_); }

std::string DisclosureNames::census() const { return "counts" + prepared(); }

std::string DisclosureNames::masked(const MaskedSum& sum) const {
    std::string name = this->sum(sum.basis, 0);
    name += fmt::format("{} of {}", sum.want == SubspaceIteration::Want::projected ? " projected" : "",
                        sum.plan.clip ? fmt::format("{:a}", *sum.plan.clip) : "whole records");
    // The order is that of the job's start or of the peers: never both.
    return sum.order.empty() ? name : name + " in " + sum.order;
}

std::string DisclosureNames::masked_for_job(const MaskedSum& sum) const { return masked(sum) + " for " + job_; }

std::string DisclosureNames::masked_by_members(const MaskedSum& sum) const {
    std::vector<std::string> members = sum.members;
    std::sort(members.begin(), members.end());
    return masked(sum) + " by " + hash_of(fmt::format("{}", fmt::join(members, "\n")));
}

}  // namespace couplet::net
