#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Columns of a thin matrix: it is kept as rows of eight numbers, one after the other.
inline constexpr Index thin_columns = 8;

/// A matrix by the way between its numbers: number k of row i is at[k * step + i * next]. A row-major matrix has step
/// 1, its transpose next 1.
struct Strided {
    const double* at;
    Index step;
    Index next;
};

/// C <- A B (thin_product), C <- C - A B (subtract_thin), on the calling thread: A has `rows` rows of `depth` numbers,
/// B and C are thin. Nothing is packed: for a few columns that would cost as much as multiplying by them. Cost: 16 rows
/// depth flops.
void thin_product(const Strided& a, Index rows, Index depth, const double* b, double* c);
void subtract_thin(const Strided& a, Index rows, Index depth, const double* b, double* c);

}  // namespace couplet
