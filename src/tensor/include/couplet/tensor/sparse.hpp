#pragma once

#include <span>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// The entries of a tensor that are not zero, in row-major order of their indices, each index once.
///
///     SparseTensor visits({1000, 500, 500}, {0, 3, 7,  0, 4, 7}, {1.0, 2.0});  // X(0, 3, 7) = 1, X(0, 4, 7) = 2
///     tt_svd(sparse_source(visits), visits.shape(), {.max_rank = 50});
///
/// Memory: 16 bytes an entry, whatever the shape. The shape's product must fit in 64 bits.
class SparseTensor {
  public:
    SparseTensor() = default;
    /// `indices`: entry after entry, counted from 0. Entries of equal indices are added in the order given; sums of
    /// zero are dropped. Throws InputError for an index outside the shape and for lengths that do not agree.
    SparseTensor(Shape shape, std::span<const Index> indices, std::vector<double> values);
    /// The entries of a dense tensor that are not zero.
    static SparseTensor of(const TensorView<const double>& dense);

    const Shape& shape() const noexcept { return shape_; }
    /// Stored entries.
    Index count() const noexcept { return static_cast<Index>(values_.size()); }
    /// Row-major positions, ascending.
    std::span<const Index> offsets() const noexcept { return offsets_; }
    std::span<const double> values() const noexcept { return values_; }
    /// The tensor with its zeros.
    Tensor<double> full() const;
    /// The part with index in [first, first + count) in the first mode, as a tensor of its own. Labels are left out.
    SparseTensor rows(Index first, Index count) const;

    const Labels& labels() const noexcept { return labels_; }
    /// Throws InputError when they do not fit the shape.
    void set_labels(Labels labels);

  private:
    Shape shape_{0};
    std::vector<Index> offsets_;
    std::vector<double> values_;
    Labels labels_;
};

/// Throws InputError that names `where` and the index of a number that is not finite.
[[noreturn]] void refuse_element(const Shape& shape, Index offset, double value, const std::string& where);

/// Throws InputError that names `where` and the index of the first NaN or infinity.
void require_finite(const SparseTensor& tensor, const std::string& where);

}  // namespace couplet
