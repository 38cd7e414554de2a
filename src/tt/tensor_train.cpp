#include "couplet/tt/tensor_train.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {

template <Real T>
TensorTrain<T>::TensorTrain() {
    std::vector<Tensor<T>> zero;
    zero.push_back(Tensor<T>::zeros({1, 1, 1}));
    *this = TensorTrain(std::move(zero));
}

template <Real T>
TensorTrain<T>::TensorTrain(std::vector<Tensor<T>> cores, std::vector<Orthogonality> orthogonality)
    : cores_(std::move(cores)), orthogonality_(std::move(orthogonality)) {
    if (cores_.empty()) throw InputError({"tensor train", "no cores", "at least one", ""});
    if (orthogonality_.empty()) orthogonality_.assign(cores_.size(), Orthogonality::none);
    if (orthogonality_.size() != cores_.size()) {
        throw InputError({"tensor train", std::to_string(orthogonality_.size()) + " orthogonality entries",
                          std::to_string(cores_.size()), ""});
    }
    std::vector<Index> sizes;
    for (std::size_t n = 0; n < cores_.size(); ++n) {
        const Shape& s = cores_[n].shape();
        const std::string where = "core " + std::to_string(n + 1);
        if (s.order() != 3 || s.size() == 0) {
            throw InputError({where, "shape " + s.to_string(), "three modes of at least 1", ""});
        }
        if (n > 0 && s[0] != ranks_.back()) {
            throw InputError({where,
                              "shape " + s.to_string() + " after one of shape " + cores_[n - 1].shape().to_string(),
                              "a first size of " + std::to_string(ranks_.back()), ""});
        }
        if (n == 0) ranks_.push_back(s[0]);
        ranks_.push_back(s[2]);
        sizes.push_back(s[1]);
    }
    if (ranks_.back() != 1) {
        throw InputError({"core " + std::to_string(cores_.size()), "shape " + cores_.back().shape().to_string(),
                          "a last size of 1", ""});
    }
    shape_ = Shape(std::move(sizes));
}

template <Real T>
MatrixView<const T> TensorTrain<T>::left_unfolding(Index n) const {
    return core(n).unfold(2);
}

template <Real T>
MatrixView<const T> TensorTrain<T>::right_unfolding(Index n) const {
    return core(n).unfold(1);
}

template <Real T>
Index TensorTrain<T>::parameters() const noexcept {
    Index total = 0;
    for (const auto& core : cores_) total += core.size();
    return total;
}

template <Real T>
T TensorTrain<T>::at(std::span<const Index> indices) const {
    if (left_rank() != 1) {
        throw InputError({"element access", "a train with R_0 = " + std::to_string(left_rank()), "R_0 = 1", ""});
    }
    shape_.offset(indices);  // checks the range
    std::vector<double> row{1.0};
    for (Index n = 0; n < order(); ++n) {
        const Index i = indices[static_cast<std::size_t>(n)];
        const auto g = core(n);
        const Index r1 = g.shape()[2];
        std::vector<double> next(static_cast<std::size_t>(r1), 0.0);
        for (std::size_t a = 0; a < row.size(); ++a) {
            const T* slice = g.data() + (static_cast<Index>(a) * g.shape()[1] + i) * r1;
            for (std::size_t b = 0; b < next.size(); ++b) next[b] += row[a] * static_cast<double>(slice[b]);
        }
        row = std::move(next);
    }
    return static_cast<T>(row[0]);
}

template <Real T>
Tensor<T> TensorTrain<T>::full() const {
    std::vector<Index> sizes(shape_.sizes().begin(), shape_.sizes().end());
    if (left_rank() != 1) sizes.insert(sizes.begin(), left_rank());
    const Shape result_shape(std::move(sizes));
    // From the right: what has been multiplied out is R_n x (I_{n+1} ... I_N).
    Matrix<T> tail = Matrix<T>::copy(core(order() - 1).unfold(1));
    for (Index n = order() - 1; n-- > 0;) {
        auto next = product<T>(left_unfolding(n), tail.view());
        next.reshape(ranks_[static_cast<std::size_t>(n)], next.size() / ranks_[static_cast<std::size_t>(n)]);
        tail = std::move(next);
    }
    Tensor<T> result(result_shape, std::move(tail).release());
    if (left_rank() == 1 && !labels_.empty()) result.set_labels(labels_);
    return result;
}

template <Real T>
void TensorTrain<T>::set_labels(Labels labels) {
    check_labels(labels, shape_);
    labels_ = std::move(labels);
}

template <Real T>
TensorTrain<T> TensorTrain<T>::clone() const {
    std::vector<Tensor<T>> cores;
    for (const auto& core : cores_) cores.push_back(Tensor<T>::copy(core.view()));
    TensorTrain copy(std::move(cores), orthogonality_);
    copy.labels_ = labels_;
    return copy;
}

template <Real T>
std::vector<Tensor<T>> TensorTrain<T>::release() && {
    auto cores = std::move(cores_);
    *this = TensorTrain();
    return cores;
}

template class TensorTrain<float>;
template class TensorTrain<double>;

}  // namespace couplet
