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

/// A train by the numbers of its cores.
std::string train_name(const TensorTrain<double>& train) {
    std::string text;
    for (Index n = 0; n < train.order(); ++n) {
        const auto core = train.core(n);
        text += hash_of(std::span(core.data(), static_cast<std::size_t>(core.size())));
    }
    return hash_of(text);
}

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
    if (centring.weighted()) moved_ += fmt::format(" {}", to_string(centring.weight));
}

void DisclosureNames::set_filling(const FeaturesMessage& message) {
    std::string name = train_name(message.features.train);
    name = hash_of(fmt::format("{} {:a} {:a}", name, message.filling->means, message.filling->step));
    if (name != filled_) filled_before_ = std::exchange(filled_, std::move(name));
}

void DisclosureNames::forget_filling() {
    filled_.clear();
    filled_before_.clear();
}

/// What is done to the records: of records that were moved, scaled or filled other directions are seen. Which entries
/// are kept for validation is the job's own, and the order's.
std::string DisclosureNames::prepared() const {
    return (spec_.preparation.scale_clients ? " scaled" : "") + moved_ +
           (spec_.missing ? fmt::format(" filled {} {}{}", job_, filled_, order_) : "");
}

std::string DisclosureNames::rows() const {
    const bool stack = spec_.job.aggregate == Aggregate::stack;
    return (stack ? "" : std::string(to_string(spec_.job.aggregate))) + prepared();
}

std::string DisclosureNames::sum(const Matrix<double>& basis) const { return basis_name(basis) + data(); }

std::string DisclosureNames::fill() const { return fmt::format("fill after {}{}", filled_before_, data()); }

std::string DisclosureNames::report(const Features& features) const {
    return "report " + train_name(features.train) + data();
}

std::string DisclosureNames::feature_sums(Index parts) const { return fmt::format("features {}{}", parts, order_); }

std::string DisclosureNames::census() const { return "counts" + prepared(); }

std::string DisclosureNames::masked(const MaskedSum& sum) const {
    std::string name = this->sum(sum.basis);
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
