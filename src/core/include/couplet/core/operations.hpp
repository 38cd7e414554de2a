#pragma once

#include <atomic>
#include <cstdint>

namespace couplet {

/// Floating-point operations that are done while it lives by the thread that made it, and by whichever threads run the
/// bodies of its parallel loops: additions and multiplications alike, as textbooks count them from the sizes of matrix
/// products, factorisations, norms and averages. What is of lower order (signs, scales, eigenvalues of a tridiagonal)
/// is left out. The count of a computation does not depend on the number of threads, nor on what else the process
/// computes. One inside the life of another counts for both.
///
///     const OperationCount count;
///     auto result = tt_svd<double>(x, {.eps = 0.01});
///     const double flops = count.total();
class OperationCount {
  public:
    OperationCount() noexcept;
    ~OperationCount();
    OperationCount(const OperationCount&) = delete;
    OperationCount& operator=(const OperationCount&) = delete;

    /// So far.
    double total() const noexcept { return static_cast<double>(counted_.load(std::memory_order_relaxed)); }

  private:
    friend void count_operations(double operations) noexcept;

    std::atomic<std::uint64_t> counted_{0};
    OperationCount* outer_;
};

/// Adds to the counts that this thread works for; next to nothing where there are none.
void count_operations(double operations) noexcept;

/// The innermost count of this thread, null where nobody counts. It lives as long as its owner says: whoever hands work
/// to another thread and waits for it passes the count on with ShareCount.
OperationCount* current_count() noexcept;

/// Lends a count of one thread to another that works for it.
class ShareCount {
  public:
    explicit ShareCount(OperationCount* count) noexcept;
    ~ShareCount();
    ShareCount(const ShareCount&) = delete;
    ShareCount& operator=(const ShareCount&) = delete;

  private:
    OperationCount* before_;
};

}  // namespace couplet
