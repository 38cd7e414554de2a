#include "couplet/core/operations.hpp"

#include <utility>

namespace couplet {
namespace {

thread_local OperationCount* innermost = nullptr;

}  // namespace

OperationCount::OperationCount() noexcept : outer_(std::exchange(innermost, this)) {}

OperationCount::~OperationCount() { innermost = outer_; }

void count_operations(double operations) noexcept {
    const auto whole = static_cast<std::uint64_t>(operations);
    for (OperationCount* count = innermost; count != nullptr; count = count->outer_) {
        count->counted_.fetch_add(whole, std::memory_order_relaxed);
    }
}

OperationCount* current_count() noexcept { return innermost; }

ShareCount::ShareCount(OperationCount* count) noexcept : before_(std::exchange(innermost, count)) {}

ShareCount::~ShareCount() { innermost = before_; }

}  // namespace couplet
