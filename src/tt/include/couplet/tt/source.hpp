#pragma once

#include <functional>
#include <memory>
#include <string>

#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/source.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Told that elements [first, first + count) of the tensor will not be read again.
using ConsumedSink = std::function<void(Index first, Index count)>;

/// A tensor as TT-SVD reads it: through its ends. Its elements are in row-major order, wherever they are; either end
/// can be anything whose size divides them. Nothing says that they are in memory, or cheap to read twice.
template <Real T>
class TensorSource {
  public:
    virtual ~TensorSource() = default;

    /// Elements.
    virtual Index size() const = 0;
    /// Whether the left end can be summarised too while `modes` modes are left; the right one always can.
    virtual bool offers_left(std::size_t modes) const = 0;
    /// The end of `own` indices: (size / own) rows of `own` numbers at the right one. Lives no longer than this.
    virtual std::unique_ptr<Source> end(Side side, Index own) const = 0;

    /// The norm of anything finite; NaN for what is not.
    virtual ScaledNorm norm() const = 0;
    /// Largest magnitude, NaN or infinity where there is one.
    virtual double max_magnitude() const = 0;
    /// Throws InputError for the first NaN or infinity, which it names by its place in a tensor of this shape.
    virtual void require_finite(const Shape& shape, const std::string& where) const = 0;

    /// The image under `map` (own x rank, orthonormal columns) of an end: a smaller source, of size / own * rank. This
    /// one is used up; `consumed`, when there is one, may be told what of it is no longer needed.
    virtual std::unique_ptr<TensorSource> project(Side side, const Matrix<double>& map,
                                                  const ConsumedSink& consumed) && = 0;
    /// 2^exponent times this one, which is used up.
    virtual std::unique_ptr<TensorSource> scale(int exponent) && = 0;
    /// All elements; this one is used up.
    virtual Tensor<T> take(const Shape& shape) && = 0;
};

/// A tensor in memory: the caller's, which stays as it is, or one that may be overwritten.
template <Real T>
std::unique_ptr<TensorSource<T>> dense_source(TensorView<const T> tensor);
template <Real T>
std::unique_ptr<TensorSource<T>> dense_source(Tensor<T>&& tensor);

}  // namespace couplet
