#include "weighted_train.hpp"

#include <utility>
#include <vector>

namespace couplet {

TensorTrain<double> weighted_train(const Features& features) {
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < features.train.order(); ++n) cores.push_back(Tensor<double>::copy(features.train.core(n)));
    const Index width = cores[0].size() / cores[0].shape()[0];
    for (Index i = 0; i < cores[0].shape()[0]; ++i) {
        for (Index j = 0; j < width; ++j) cores[0].data()[i * width + j] *= features.sigma[static_cast<std::size_t>(i)];
    }
    return TensorTrain<double>(std::move(cores));
}

bool can_expand(Index rows, const Shape& features) {
    constexpr double most_numbers = 1 << 26;
    return static_cast<double>(rows) * static_cast<double>(features.size()) <= most_numbers;
}

Matrix<double> expanded(const TensorTrain<double>& train) {
    return Matrix<double>::adopt(train.full().release(), train.left_rank(), train.shape().size());
}

}  // namespace couplet
