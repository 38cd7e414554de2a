#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/coding/integers.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// How a core of R x I x S numbers is laid out as a matrix for the coder, whose rows should fall in size and whose
/// neighbours should be alike: S x (R I), or R x I where S = 1. `inner` is the last mode of dense rows, 0 of a core.
class CoreLayout {
  public:
    CoreLayout(const Shape& core, Index inner);

    /// Position of element (l, i, r).
    Index at(Index l, Index i, Index r) const noexcept { return (r * left_ + l) * size_ + i; }
    template <class T>
    IntegerMatrix<T> matrix(T* values) const {
        if (right_ == 1) return {{values, left_, size_}, inner_};
        return {{values, right_, left_ * size_}, size_};
    }

  private:
    Index left_;
    Index size_;
    Index right_;
    Index inner_;
};

/// Steps of the slices of core after core, from the numbers decoded so far.
class SliceSteps {
  public:
    explicit SliceSteps(double step) : step_(step) {}

    /// Of the slice l of the core that comes next; 0 for one that multiplies nothing.
    double of(Index l) const;
    /// The core that came, as decoded.
    void pass(TensorView<const double> core);

  private:
    double step_;
    std::vector<double> weights2_;  ///< squared norms of the columns of all cores so far; empty before the first
};

/// integers * steps as a core.
Tensor<double> dequantised_core(const Shape& shape, const CoreLayout& layout, std::span<const std::int32_t> integers,
                                const SliceSteps& steps);

}  // namespace couplet
