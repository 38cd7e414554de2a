#include "couplet/ctt/masked_state.hpp"

#include <cmath>
#include <string>

#include "couplet/core/error.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

constexpr int limb_bits = 32;
constexpr std::uint64_t limb_mask = (std::uint64_t{1} << limb_bits) - 1;

/// At most 2^8 nodes of 32 bits: far within the 53 of a double, so that dividing and multiplying by their number is
/// undone by rounding.
std::uint64_t limb_sum(double average, Index nodes) {
    const auto all = static_cast<double>(nodes);
    const double sum = average * all;
    const double whole = std::round(sum);
    constexpr double slack = 1e-3;
    if (!(std::abs(sum - whole) < slack && whole >= 0 && whole <= all * static_cast<double>(limb_mask))) {
        throw InputError({"masked sum", std::to_string(sum), "the sum of " + std::to_string(nodes) + " whole numbers",
                          "Somebody has changed it on its way."});
    }
    return static_cast<std::uint64_t>(whole);
}

}  // namespace

Released<std::vector<double>> release_masked(std::span<const std::uint64_t> masked) {
    std::vector<double> state;
    state.reserve(2 * masked.size());
    for (const std::uint64_t value : masked) {
        state.push_back(static_cast<double>(value & limb_mask));
        state.push_back(static_cast<double>(value >> limb_bits));
    }
    return ReleaseGate::release(std::move(state));
}

Released<std::vector<double>> release_public(std::span<const double> state) {
    return ReleaseGate::release(std::vector<double>(state.begin(), state.end()));
}

std::vector<std::uint64_t> sum_of_masked(std::span<const double> average, Index nodes, std::uint64_t mask) {
    if (average.size() % 2 != 0) {
        throw InputError({"masked sum", std::to_string(average.size()) + " numbers", "two for each", ""});
    }
    std::vector<std::uint64_t> sum;
    sum.reserve(average.size() / 2);
    for (std::size_t i = 0; i < average.size(); i += 2) {
        sum.push_back((limb_sum(average[i], nodes) + (limb_sum(average[i + 1], nodes) << limb_bits)) & mask);
    }
    return sum;
}

}  // namespace couplet
