#include "core_layout.hpp"

#include <cmath>
#include <utility>

namespace couplet {

CoreLayout::CoreLayout(const Shape& core, Index inner)
    : left_(core[0]), size_(core[1]), right_(core[2]), inner_(inner) {}

double SliceSteps::of(Index l) const {
    if (weights2_.empty()) return step_;
    const double weight2 = weights2_[static_cast<std::size_t>(l)];
    return weight2 > 0 ? step_ / std::sqrt(weight2) : 0;
}

void SliceSteps::pass(TensorView<const double> core) {
    const Index left = core.shape()[0];
    const Index size = core.shape()[1];
    const Index right = core.shape()[2];
    std::vector<double> next(static_cast<std::size_t>(right), 0.0);
    const double* value = core.data();
    for (Index l = 0; l < left; ++l) {
        const double weight2 = weights2_.empty() ? 1.0 : weights2_[static_cast<std::size_t>(l)];
        for (Index i = 0; i < size; ++i) {
            for (double& sum : next) {
                sum += weight2 * (*value * *value);
                ++value;
            }
        }
    }
    weights2_ = std::move(next);
}

Tensor<double> dequantised_core(const Shape& shape, const CoreLayout& layout, std::span<const std::int32_t> integers,
                                const SliceSteps& steps) {
    Tensor<double> core(shape);
    double* value = core.data();
    for (Index l = 0; l < shape[0]; ++l) {
        const double step = steps.of(l);
        for (Index i = 0; i < shape[1]; ++i) {
            for (Index r = 0; r < shape[2]; ++r) {
                *value++ = static_cast<double>(integers[static_cast<std::size_t>(layout.at(l, i, r))]) * step;
            }
        }
    }
    return core;
}

}  // namespace couplet
