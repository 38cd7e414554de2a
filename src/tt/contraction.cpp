#include "couplet/tt/contraction.hpp"

#include <string>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {

template <Real T>
Matrix<T> contract_right(TensorView<const T> x, const TensorTrain<T>& train) {
    const Index lead = x.shape().order() - train.order();
    for (Index n = 0; n < train.order(); ++n) {
        if (lead >= 0 && x.shape()[lead + n] == train.shape()[n]) continue;
        throw InputError({"contraction", "a tensor of shape " + x.shape().to_string(),
                          "last modes " + train.shape().to_string() + " as in the train", ""});
    }
    const Index rows = x.shape().product(0, lead);
    // After mode n the partial result is (rows * I_{lead+1} ... I_{n-1}) x R_{n-1}.
    MatrixView<const T> current(x.data(), x.size(), 1);
    Matrix<T> held;
    for (Index n = train.order(); n-- > 0;) {
        const auto core = train.right_unfolding(n);  // R_{n-1} x (I_n R_n)
        const MatrixView<const T> folded(current.data, current.size() / core.cols, core.cols);
        auto next = product<T>(folded, core, Op::none, Op::transpose);
        held = std::move(next);
        current = held.view();
    }
    held.reshape(rows, train.left_rank());
    return held;
}

template Matrix<float> contract_right(TensorView<const float>, const TensorTrain<float>&);
template Matrix<double> contract_right(TensorView<const double>, const TensorTrain<double>&);

}  // namespace couplet
