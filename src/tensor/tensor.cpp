#include "couplet/tensor/tensor.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/tensor/sparse.hpp"
#include "element.hpp"

namespace couplet {
void check_labels(const Labels& labels, const Shape& shape) {
    if (labels.empty()) return;
    if (static_cast<Index>(labels.size()) != shape.order()) {
        throw InputError({"labels", std::to_string(labels.size()) + " modes named",
                          std::to_string(shape.order()) + " for shape " + shape.to_string(), ""});
    }
    for (Index n = 0; n < shape.order(); ++n) {
        const ModeLabels& mode = labels[static_cast<std::size_t>(n)];
        const auto require = [&](std::size_t count, const char* what) {
            if (count == 0 || static_cast<Index>(count) == shape[n]) return;
            throw InputError({"labels", std::to_string(count) + what + " in mode " + std::to_string(n + 1),
                              std::to_string(shape[n]) + " for shape " + shape.to_string(), ""});
        };
        require(mode.entries.size(), " labels");
        require(mode.units.size(), " units");
    }
}

template <class T>
TensorView<T> TensorView<T>::rows(Index first, Index count) const {
    if (shape_.order() == 0 || first < 0 || count < 0 || count > shape_[0] - first) {
        throw InputError({"rows", std::to_string(count) + " rows from row " + std::to_string(first),
                          "a range inside the first mode of shape " + shape_.to_string(), ""});
    }
    std::vector<Index> sizes(shape_.sizes().begin(), shape_.sizes().end());
    sizes[0] = count;
    return {data_ + first * shape_.product(1, shape_.order()), Shape(std::move(sizes))};
}

template <Real T>
Tensor<T>::Tensor(Shape shape, Buffer<T> buffer) : shape_(std::move(shape)), buffer_(std::move(buffer)) {
    if (buffer_.size() < shape_.size()) {
        throw InputError({"tensor", "a buffer of " + std::to_string(buffer_.size()) + " elements",
                          std::to_string(shape_.size()) + " for shape " + shape_.to_string(), ""});
    }
}

template <Real T>
Tensor<T> Tensor<T>::zeros(Shape shape) {
    Tensor result(std::move(shape));
    std::fill_n(result.data(), result.size(), T(0));
    return result;
}

template <Real T>
Tensor<T> Tensor<T>::copy(TensorView<const T> source) {
    Tensor result(source.shape());
    std::copy_n(source.data(), source.size(), result.data());
    return result;
}

template <Real T>
void Tensor<T>::set_labels(Labels labels) {
    check_labels(labels, shape_);
    labels_ = std::move(labels);
}

template <Real To, class E>
Tensor<To> convert(const TensorView<E>& tensor) {
    Tensor<To> result(tensor.shape());
    convert_into(tensor.unfold(0), result.view().unfold(0));
    return result;
}

template <Real T>
std::optional<Index> find_non_finite(std::span<const T> values) {
    constexpr std::size_t block = 4096;
    for (std::size_t first = 0; first < values.size(); first += block) {
        const std::size_t last = std::min(first + block, values.size());
        // x - x is 0 for finite x and NaN otherwise, and a sum of zeros vectorises where an early exit does
        // not.
        T sum = 0;
        for (std::size_t i = first; i < last; ++i) sum += values[i] - values[i];
        if (sum == 0) continue;
        for (std::size_t i = first; i < last; ++i) {
            if (!std::isfinite(values[i])) return static_cast<Index>(i);
        }
    }
    return std::nullopt;
}

template <Real T>
void require_finite(TensorView<const T> tensor, const std::string& where) {
    const std::span<const T> values(tensor.data(), static_cast<std::size_t>(tensor.size()));
    const auto bad = find_non_finite(values);
    if (!bad) return;
    refuse_element(tensor.shape(), *bad, static_cast<double>(values[static_cast<std::size_t>(*bad)]), where);
}

template <Real T>
void require_no_infinity(TensorView<const T> tensor, const std::string& where) {
    const T* const end = tensor.data() + tensor.size();
    const T* const bad = std::find_if(tensor.data(), end, [](T value) { return std::isinf(value); });
    if (bad == end) return;
    throw InputError({where, element_text(tensor.shape(), bad - tensor.data(), static_cast<double>(*bad)),
                      "finite numbers, or NaN for what is not known", "Only NaN stands for a missing entry."});
}

template class TensorView<float>;
template class TensorView<double>;
template class TensorView<const float>;
template class TensorView<const double>;
template class Tensor<float>;
template class Tensor<double>;
template std::optional<Index> find_non_finite(std::span<const float>);
template std::optional<Index> find_non_finite(std::span<const double>);
template void require_finite(TensorView<const float>, const std::string&);
template void require_finite(TensorView<const double>, const std::string&);
template void require_no_infinity(TensorView<const float>, const std::string&);
template void require_no_infinity(TensorView<const double>, const std::string&);
#define COUPLET_INSTANTIATE(E)                            \
    template Tensor<float> convert(const TensorView<E>&); \
    template Tensor<double> convert(const TensorView<E>&);
COUPLET_INSTANTIATE(float)
COUPLET_INSTANTIATE(const float)
COUPLET_INSTANTIATE(double)
COUPLET_INSTANTIATE(const double)
#undef COUPLET_INSTANTIATE

}  // namespace couplet
