#pragma once

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// Bound on what the computed projection of a matrix loses to rounding, relative to its norm, where each entry is a sum
/// of `terms` products. Sums are taken in double, so that float pays once, when the result is stored.
template <Real T>
double projection_rounding(Index terms) noexcept;

/// Turns the cores of a train into stored ones of type T and adds up what that changes. float rounds every core; either
/// type rounds a carrier whose entries become denormal.
template <Real T>
class CoreStore {
  public:
    /// A core whose unfolding is orthonormal, as `kind` says.
    Tensor<T> orthonormal(Tensor<double> core, Orthogonality kind);

    /// The core that carries the norm and stands for 2^exponent times itself; `norm` is that of the train without this
    /// power. Throws InputError when an entry is beyond the largest number of type T, and when everything vanishes.
    template <Real From>
    Tensor<T> carrier(Tensor<From> core, int exponent, double norm);

    /// Bound on the change of the train, relative to its norm.
    double rounding() const noexcept { return rounding_; }

  private:
    double rounding_ = 0;
};

}  // namespace couplet
