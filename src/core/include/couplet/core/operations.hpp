#pragma once

namespace couplet {

/// Adds to the count of floating-point operations of this process; from any thread.
void count_operations(double operations) noexcept;

/// Floating-point operations of this process so far, additions and multiplications alike, as textbooks count them from
/// the sizes of matrix products, factorisations, norms and averages. What is of lower order (signs, scales, eigenvalues
/// of a tridiagonal) is left out. The count of a computation does not depend on the number of threads.
double operations_counted() noexcept;

}  // namespace couplet
