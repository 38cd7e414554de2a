#include "couplet/tt/tensor_train.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// Whether products from the right stay within the range of T, with room for the ranks.
template <Real T>
bool products_are_safe(const std::vector<Tensor<T>>& cores) {
    constexpr int most = std::numeric_limits<T>::max_exponent - 4;
    int largest = 0;  // exponent that a product may reach
    int typical = 0;  // one that it has when the sums over the ranks do not grow
    bool safe = true;
    for (auto core = cores.rbegin(); core != cores.rend(); ++core) {
        const int own = magnitude_exponent(max_magnitude<T>(core->view().unfold(0)));
        typical += own;
        largest += own + std::ilogb(static_cast<double>(core->shape()[2])) + 1;
        safe = safe && largest <= most && typical >= -most;
    }
    return safe;
}

template <Real T>
[[noreturn]] void refuse_entries(const char* which) {
    std::ostringstream expected;
    expected << "entries between " << std::numeric_limits<T>::denorm_min() << " and " << std::numeric_limits<T>::max();
    throw InputError({"tensor train", std::string("entries ") + which, expected.str(), "Scale the cores first."});
}

/// Brings a part of the product to magnitude about 1 and returns the exponent taken out.
template <Real T>
int take_exponent(T* values, Index size) {
    const int exponent = magnitude_exponent(max_magnitude(MatrixView<const T>(values, 1, size)));
    scale_by_power(values, size, -exponent, values);
    return exponent;
}

}  // namespace

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
    int exponent = 0;
    for (Index n = 0; n < order(); ++n) {
        const Index i = indices[static_cast<std::size_t>(n)];
        const auto g = core(n);
        const Index r1 = g.shape()[2];
        std::vector<double> next(static_cast<std::size_t>(r1), 0.0);
        for (std::size_t a = 0; a < row.size(); ++a) {
            const T* slice = g.data() + (static_cast<Index>(a) * g.shape()[1] + i) * r1;
            for (std::size_t b = 0; b < next.size(); ++b) next[b] += row[a] * static_cast<double>(slice[b]);
        }
        exponent += take_exponent(next.data(), r1);
        row = std::move(next);
    }
    const auto value = static_cast<T>(std::ldexp(row[0], exponent));
    if (std::isinf(value) && std::isfinite(row[0])) refuse_entries<T>("beyond the largest number");
    return value;
}

template <Real T>
Tensor<T> TensorTrain<T>::full() const {
    std::vector<Index> sizes(shape_.sizes().begin(), shape_.sizes().end());
    if (left_rank() != 1) sizes.insert(sizes.begin(), left_rank());
    const Shape result_shape(std::move(sizes));
    const bool safe = products_are_safe(cores_);
    int exponent = 0;
    // From the right: what has been multiplied out is R_n x (I_{n+1} ... I_N).
    Matrix<T> tail = Matrix<T>::copy(core(order() - 1).unfold(1));
    for (Index n = order() - 1; n-- > 0;) {
        Matrix<T> scaled;
        MatrixView<const T> left = left_unfolding(n);
        if (!safe) {
            scaled = Matrix<T>::copy(left);
            exponent += take_exponent(scaled.data(), scaled.size()) + take_exponent(tail.data(), tail.size());
            left = scaled.view();
        }
        auto next = product<T>(left, tail.view());
        next.reshape(ranks_[static_cast<std::size_t>(n)], next.size() / ranks_[static_cast<std::size_t>(n)]);
        tail = std::move(next);
    }
    if (exponent != 0) {
        const bool zero = max_magnitude<T>(tail.view()) == 0;
        scale_by_power(tail.data(), tail.size(), exponent, tail.data());
        const double largest = max_magnitude<T>(tail.view());
        if (std::isinf(largest)) refuse_entries<T>("beyond the largest number");
        if (largest == 0 && !zero) refuse_entries<T>("below the smallest number, all of them");
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
