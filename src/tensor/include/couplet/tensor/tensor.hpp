#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "couplet/tensor/matrix.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Names for one mode: of the mode itself and, where known, of each of its indices ("diagnosis", {"asthma", ...}) and
/// the unit of what stands there ("mmHg"; "" where it is not known).
struct ModeLabels {
    std::string name = {};
    std::vector<std::string> entries = {};  ///< empty, or one per index
    std::vector<std::string> units = {};    ///< empty, or one per index
    friend bool operator==(const ModeLabels&, const ModeLabels&) = default;
};

/// Labels of a tensor: empty, or one entry per mode (whose parts may be empty).
using Labels = std::vector<ModeLabels>;

/// Throws InputError unless labels is empty or fits the shape.
void check_labels(const Labels& labels, const Shape& shape);

/// Dense row-major tensor that somebody else owns (a Tensor, a mapped file, a NumPy array).
template <class T>
class TensorView {
  public:
    TensorView() = default;
    TensorView(T* data, Shape shape) : data_(data), shape_(std::move(shape)) {}
    operator TensorView<const T>() const requires(!std::is_const_v<T>) { return {data_, shape_}; }

    T* data() const noexcept { return data_; }
    const Shape& shape() const noexcept { return shape_; }
    Index size() const noexcept { return shape_.size(); }
    T& at(std::span<const Index> indices) const { return data_[shape_.offset(indices)]; }

    /// The unfolding whose rows are indexed by modes 1..n and columns by modes n+1..N: a view, nothing is copied.
    /// Requires 0 <= n <= order.
    MatrixView<T> unfold(Index n) const { return {data_, shape_.product(0, n), shape_.product(n, shape_.order())}; }
    /// The part with index in [first, first + count) in the first mode: a view.
    TensorView rows(Index first, Index count) const;

  private:
    T* data_ = nullptr;
    Shape shape_;
};

/// Dense row-major tensor that owns its elements and, optionally, names its modes.
template <Real T>
class Tensor {
  public:
    Tensor() : Tensor(Shape{0}) {}
    /// Elements start uninitialised.
    explicit Tensor(Shape shape) : shape_(std::move(shape)), buffer_(shape_.size()) {}
    Tensor(Shape shape, Buffer<T> buffer);
    static Tensor zeros(Shape shape);
    static Tensor copy(TensorView<const T> source);

    T* data() noexcept { return buffer_.data(); }
    const T* data() const noexcept { return buffer_.data(); }
    const Shape& shape() const noexcept { return shape_; }
    Index size() const noexcept { return shape_.size(); }
    TensorView<T> view() { return {data(), shape_}; }
    TensorView<const T> view() const { return {data(), shape_}; }
    operator TensorView<T>() { return view(); }
    operator TensorView<const T>() const { return view(); }
    std::span<T> elements() { return {data(), static_cast<std::size_t>(size())}; }
    std::span<const T> elements() const { return {data(), static_cast<std::size_t>(size())}; }

    const Labels& labels() const noexcept { return labels_; }
    void set_labels(Labels labels);
    /// Hands the memory over; the tensor is left empty.
    Buffer<T> release() && {
        shape_ = Shape{0};
        labels_.clear();
        return std::move(buffer_);
    }

  private:
    Shape shape_;
    Buffer<T> buffer_;
    Labels labels_;
};

/// The elements rounded to the other type; see convert_into().
template <Real To, class E>
Tensor<To> convert(const TensorView<E>& tensor);

/// Position of the first NaN or infinity, if any: the one scan for them. Reads the data once.
template <Real T>
std::optional<Index> find_non_finite(std::span<const T> values);

/// Throws InputError that names `where` and the index of the first NaN or infinity.
template <Real T>
void require_finite(TensorView<const T> tensor, const std::string& where);

/// Throws InputError that names `where` and the index of the first infinity; NaN stands for an entry that is not known.
template <Real T>
void require_no_infinity(TensorView<const T> tensor, const std::string& where);

}  // namespace couplet
