#include "couplet/tt/source.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/threads.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

/// out = V^T source at a left end, source V at a right one. float data is multiplied in double and rounded once: the
/// certificate counts one rounding a projection, whatever the length of its sums.
template <Real T>
void project_block(MatrixView<const T> source, Side side, const Matrix<double>& v, MatrixView<T> out) {
    if constexpr (std::same_as<T, double>) {
        if (side == Side::left) {
            multiply<double>(v.view(), Op::transpose, source, Op::none, out);
        } else {
            multiply<double>(source, Op::none, v.view(), Op::none, out);
        }
    } else {
        const auto wide = convert<double>(source);
        const auto image =
            side == Side::left ? product<double>(v.view(), wide.view(), Op::transpose) : product(wide.view(), v.view());
        convert_into(image.view(), out);
    }
}

/// Rows or columns of the other side that are projected at once.
constexpr Index block = 512;

/// A tensor in memory. `owned` is empty while the memory is the caller's.
template <Real T>
class DenseSource final : public TensorSource<T> {
  public:
    DenseSource(const T* data, Index size) : data_(data), size_(size) {}
    DenseSource(Buffer<T> owned, Index size) : owned_(std::move(owned)), data_(owned_.data()), size_(size) {}

    Index size() const override { return size_; }
    bool offers_left(std::size_t) const override { return true; }
    std::unique_ptr<Source> end(Side side, Index own) const override {
        return std::make_unique<DenseEnd<T>>(matrix(side, own), side);
    }
    ScaledNorm norm() const override { return scaled_norm(all()); }
    double max_magnitude() const override { return couplet::max_magnitude(all()); }
    void require_finite(const Shape& shape, const std::string& where) const override {
        couplet::require_finite(TensorView<const T>(data_, shape), where);
    }

    std::unique_ptr<TensorSource<T>> project(Side side, const Matrix<double>& map, const ConsumedSink& consumed) &&
        override {
        const Index size = size_ / map.rows() * map.cols();
        auto image = owned_.size() > 0 ? project_in_place(side, map) : project_copy(side, map, consumed);
        return std::make_unique<DenseSource>(std::move(image), size);
    }
    std::unique_ptr<TensorSource<T>> scale(int exponent) && override {
        auto scaled = owned_.size() > 0 ? std::move(owned_) : Buffer<T>(size_);
        scale_by_power(data_, size_, exponent, scaled.data());
        return std::make_unique<DenseSource>(std::move(scaled), size_);
    }
    Tensor<T> take(const Shape& shape) && override {
        if (owned_.size() > 0) return Tensor<T>(shape, std::move(owned_));
        return Tensor<T>::copy({data_, shape});
    }

  private:
    MatrixView<const T> all() const { return {data_, 1, size_}; }
    MatrixView<const T> matrix(Side side, Index own) const {
        return side == Side::left ? MatrixView<const T>(data_, own, size_ / own)
                                  : MatrixView<const T>(data_, size_ / own, own);
    }
    Buffer<T> project_copy(Side side, const Matrix<double>& map, const ConsumedSink& consumed) const;
    Buffer<T> project_in_place(Side side, const Matrix<double>& map);

    Buffer<T> owned_;
    const T* data_;
    Index size_;
};

/// The image of memory that is the caller's. When it is nearly as large as the tensor itself, the caller is told which
/// elements will not be read again, so that both need not be in memory at once.
template <Real T>
Buffer<T> DenseSource<T>::project_copy(Side side, const Matrix<double>& map, const ConsumedSink& consumed) const {
    const Index rank = map.cols();
    const Index own = map.rows();
    const Index other = size_ / own;
    const bool left = side == Side::left;
    Buffer<T> target(other * rank);
    const auto project_range = [&](Index first, Index count) {
        if (left) {
            project_block<T>(matrix(side, own).cols_from(first, count), side, map,
                             {target.data() + first, rank, count, other});
        } else {
            project_block<T>(matrix(side, own).rows_from(first, count), side, map,
                             {target.data() + first * rank, count, rank});
        }
    };
    const bool large = consumed && 2 * rank > own;
    const Index step = large ? std::max<Index>(8192, other / 32) : other;
    for (Index first = 0; first < other; first += step) {
        const Index count = std::min(step, other - first);
        if constexpr (std::same_as<T, double>) {
            project_range(first, count);
        } else {
            const auto blocks = Partition::blocks(count, block);
            parallel_for(blocks.count(), [&](Index b) { project_range(first + blocks.begin(b), blocks.length(b)); });
        }
        for (Index i = 0; large && left && i < own; ++i) consumed(i * other + first, count);
        if (large && !left) consumed(first * own, count * own);
    }
    return target;
}

/// The image over the tensor itself: every block is read before the smaller result is written over it.
template <Real T>
Buffer<T> DenseSource<T>::project_in_place(Side side, const Matrix<double>& map) {
    const Index rank = map.cols();
    const Index own = map.rows();
    const Index other = size_ / own;
    // Enough for any number of cores, and long enough to be worth one of them.
    constexpr Index parts_most = 128;
    const auto parts = Partition::even(other, std::min(other / block, parts_most));
    T* data = owned_.data();
    parallel_for(parts.count(), [&](Index p) {
        const Index start = parts.begin(p);
        const Index end_of_part = parts.end(p);
        Matrix<T> image(side == Side::left ? rank : block, side == Side::left ? block : rank);
        for (Index i0 = start; i0 < end_of_part; i0 += block) {
            const Index count = std::min(block, end_of_part - i0);
            if (side == Side::left) {
                const MatrixView<const T> source(data + i0, own, count, other);
                const MatrixView<T> out(image.data(), rank, count, block);
                project_block(source, side, map, out);
                for (Index i = 0; i < rank; ++i) std::copy_n(out.row(i), count, data + i * other + i0);
            } else {
                const MatrixView<const T> source(data + i0 * own, count, own);
                project_block(source, side, map, MatrixView<T>(image.data(), count, rank));
                std::copy_n(image.data(), count * rank, data + start * own + (i0 - start) * rank);
            }
        }
    });
    if (side == Side::right) {
        for (Index p = 1; p < parts.count(); ++p) {
            const Index start = parts.begin(p);
            std::copy_n(data + start * own, parts.length(p) * rank, data + start * rank);
        }
    }
    return std::move(owned_);
}

}  // namespace

template <Real T>
std::unique_ptr<TensorSource<T>> dense_source(TensorView<const T> tensor) {
    return std::make_unique<DenseSource<T>>(tensor.data(), tensor.size());
}

template <Real T>
std::unique_ptr<TensorSource<T>> dense_source(Tensor<T>&& tensor) {
    const Index size = tensor.size();
    return std::make_unique<DenseSource<T>>(std::move(tensor).release(), size);
}

template std::unique_ptr<TensorSource<float>> dense_source(TensorView<const float>);
template std::unique_ptr<TensorSource<double>> dense_source(TensorView<const double>);
template std::unique_ptr<TensorSource<float>> dense_source(Tensor<float>&&);
template std::unique_ptr<TensorSource<double>> dense_source(Tensor<double>&&);

}  // namespace couplet
