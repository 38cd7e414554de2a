#pragma once

#include "couplet/linalg/svd.hpp"
#include "couplet/tt/tensor_train.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {

template <Real T>
struct Orthonormalised {
    TensorTrain<T> train;
    double norm = 0;  ///< Frobenius norm of the train
};

/// Same train, cores 1..N-1 left-orthonormal, the norm in the last. Ranks never grow.
/// Cost: sum of 4 R_{n-1} I_n R_n^2. A train that is given away is overwritten in place. Throws InputError when the
/// norm is not one that a core of type T can hold.
template <Real T>
Orthonormalised<T> left_orthonormalise(TensorTrain<T>&& train);
template <Real T>
Orthonormalised<T> left_orthonormalise(const TensorTrain<T>& train) {
    return left_orthonormalise(train.clone());
}

/// Same train, cores 2..N right-orthonormal, the norm in the first.
template <Real T>
Orthonormalised<T> right_orthonormalise(TensorTrain<T>&& train);
template <Real T>
Orthonormalised<T> right_orthonormalise(const TensorTrain<T>& train) {
    return right_orthonormalise(train.clone());
}

struct RoundOptions {
    double eps = 0;  ///< relative error allowed, 0 <= eps < 1
    Index max_rank = unlimited_rank;
};

/// TT-rounding (Oseledets 2011): the same guarantees as tt_svd, without ever forming the tensor. Bond R_0 is
/// kept. Cores 2..N of the result are right-orthonormal. The error counts from the train that the cores stand for up to
/// rounding: where they cancel, as in A - B for nearly equal A and B, that is rounding of A.
template <Real T>
TtSvdResult<T> round(const TensorTrain<T>& train, const RoundOptions& options);

}  // namespace couplet
