#include "couplet/core/operations.hpp"

#include <atomic>
#include <cstdint>

namespace couplet {
namespace {

std::atomic<std::uint64_t> counted{0};

}  // namespace

void count_operations(double operations) noexcept {
    counted.fetch_add(static_cast<std::uint64_t>(operations), std::memory_order_relaxed);
}

double operations_counted() noexcept { return static_cast<double>(counted.load(std::memory_order_relaxed)); }

}  // namespace couplet
