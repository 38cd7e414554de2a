#pragma once

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// Contracts the last M modes of X with a train of order M, from the right: result(i, a) = sum over the rest
/// of X(i, j_1, ..., j_M) W(a, j_1, ..., j_M), with i over the leading modes of X and a over the open left
/// bond R_0. With right-orthonormal cores this is the projection of X onto the train's space, the refit of a
/// client. Cost: 2 |X| R_{N-1} flops for the first mode, less for each further one; nothing of the size of
/// the full W is formed.
template <Real T>
Matrix<T> contract_right(TensorView<const T> x, const TensorTrain<T>& train);

}  // namespace couplet
