#pragma once

#include <vector>

#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// Cores in double, each brought to magnitude about 1 by a power of two; the train is 2^exponent times their
/// product. A zero core is left as it is. Products of such cores neither overflow nor vanish when the result
/// does not.
struct ScaledCores {
    std::vector<Tensor<double>> cores;
    int exponent = 0;
};

template <Real T>
ScaledCores scaled_cores(const TensorTrain<T>& train) {
    ScaledCores result;
    for (Index n = 0; n < train.order(); ++n) {
        const auto source = train.core(n);
        Tensor<double> core(source.shape());
        const int shift = magnitude_exponent(max_magnitude(source.unfold(0)));
        scale_by_power(source.data(), core.size(), -shift, core.data());
        result.exponent += shift;
        result.cores.push_back(std::move(core));
    }
    return result;
}

/// In the memory of the train itself.
inline ScaledCores scaled_cores(TensorTrain<double>&& train) {
    ScaledCores result;
    for (auto& core : std::move(train).release()) {
        const int shift = magnitude_exponent(max_magnitude<double>(core.view().unfold(0)));
        if (shift != 0) scale_by_power(core.data(), core.size(), -shift, core.data());
        result.exponent += shift;
        result.cores.push_back(std::move(core));
    }
    return result;
}

/// The norm of the train, by a sweep from left to right; nothing is stored, so that any norm will do.
ScaledNorm swept_norm(ScaledCores scaled);

}  // namespace couplet
