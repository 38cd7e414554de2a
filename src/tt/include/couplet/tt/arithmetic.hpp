#pragma once

#include <span>

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// A + B, exactly: inner ranks add up. Shapes and R_0 must agree (InputError names both). Labels of A are
/// kept. No arithmetic is done; round() the result to shrink it.
template <Real T>
TensorTrain<T> add(const TensorTrain<T>& a, const TensorTrain<T>& b);

/// factor * A; only the last core changes. Throws InputError where that leaves the range of T.
template <Real T>
TensorTrain<T> scale(const TensorTrain<T>& a, T factor);

/// Sum over all entries of A * B; R_0 must be 1 or agree (then summed over it too). Cost: sum of I_n R_n^a
/// R_n^b (R_n^a + R_n^b). Computed in double with the magnitudes of the cores split off. Throws InputError when the
/// result is no number: beyond the largest, below the smallest, or lost among products that are.
template <Real T>
double dot(const TensorTrain<T>& a, const TensorTrain<T>& b);

/// Frobenius norm, by orthogonalisation: accurate also where dot(a, a) would cancel or overflow. Throws InputError for
/// a norm that is no number.
template <Real T>
double norm(const TensorTrain<T>& a);

/// The trains one after the other along the first mode: shape (sum of I_1) x I_2 x ... x I_N. This is how
/// clients couple. All other modes must agree; R_0 = 1. Inner ranks add up.
template <Real T>
TensorTrain<T> concatenate(std::span<const TensorTrain<T>> trains);

}  // namespace couplet
