#include "couplet/sim/original_units.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {

OriginalFit original_fit(const TensorView<const double>& x, const Matrix<double>& personal, const Features& features,
                         const Centring& centring, const std::string& who) {
    const Index patients = x.shape()[0];
    const Index width = x.shape().product(1, x.shape().order());
    const Tensor<double> shared = features.train.full();
    if (personal.rows() != patients || shared.size() != features.train.left_rank() * width) {
        throw InputError({who, "data of other patients or features than the personal core", "those of the fit", ""});
    }
    Tensor<double> told(x.shape());
    const MatrixView<const double> rows(shared.data(), features.train.left_rank(), width);
    const Matrix<double> moved = product<double>(personal.view(), rows);
    std::copy_n(moved.data(), moved.size(), told.data());
    const Tensor<double> fit = restored(told.view(), centring, who);
    OriginalFit result;
    for (Index i = 0; i < fit.size(); ++i) {
        if (std::isnan(x.data()[i])) continue;
        const double left = x.data()[i] - fit.data()[i];
        result.error2 += left * left;
        result.norm2 += x.data()[i] * x.data()[i];
    }
    return result;
}

}  // namespace couplet
