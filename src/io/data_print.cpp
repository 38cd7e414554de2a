#include "couplet/io/data_print.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace couplet {
namespace {

/// Every bit of the sum depends on every bit before (the finaliser of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

constexpr std::uint64_t chained(std::uint64_t sum, std::uint64_t x) { return mixed(sum + 0x9e3779b97f4a7c15 + x); }

std::uint64_t print_of(TensorView<const double> x) {
    std::uint64_t sum = static_cast<std::uint64_t>(x.shape().order());
    for (const Index size : x.shape().sizes()) sum = chained(sum, static_cast<std::uint64_t>(size));
    // Chains of their own, so that one need not wait for the other.
    std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
    for (Index i = 0; i < x.size(); ++i) {
        std::uint64_t& lane = lanes[static_cast<std::size_t>(i % 4)];
        lane = chained(lane, std::bit_cast<std::uint64_t>(x.data()[i]));
    }
    for (const std::uint64_t lane : lanes) sum = chained(sum, lane);
    return sum;
}

std::string letters(std::uint64_t print) { return fmt::format("{:016x}", print); }

}  // namespace

std::string data_print(TensorView<const double> x) { return letters(print_of(x)); }

std::string features_print(std::span<const Tensor<double>> cores) {
    std::uint64_t sum = cores.size();
    for (const auto& core : cores) sum = chained(sum, print_of(core.view()));
    return letters(sum);
}

std::string features_print(const TensorTrain<double>& features) {
    std::uint64_t sum = static_cast<std::uint64_t>(features.order());
    for (Index n = 0; n < features.order(); ++n) sum = chained(sum, print_of(features.core(n)));
    return letters(sum);
}

}  // namespace couplet
