#include "clipping.hpp"

#include <cmath>

#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// (Q D T - X_i S) D with D = diag(a): the gradient of one patient, S the other shared factor and T its Gram matrix.
/// `x_other` is X_i S on entry and the gradient on return.
void patient_gradient(const double* a, const Matrix<double>& own, const Matrix<double>& other_gram,
                      Matrix<double>& x_other) {
    const Index rank = own.cols();
    auto scaled = Matrix<double>::copy(other_gram.view());
    for (Index r = 0; r < rank; ++r) {
        for (Index s = 0; s < rank; ++s) scaled(r, s) *= a[r];
    }
    multiply<double>(own.view(), Op::none, scaled.view(), Op::none, x_other.view(), 1.0, -1.0);
    for (Index i = 0; i < x_other.rows(); ++i) {
        for (Index r = 0; r < rank; ++r) x_other(i, r) *= a[r];
    }
}

}  // namespace

Matrix<double> clipped_gradient(TensorView<const double> x, const Factors& factors, Index mode, double clip) {
    const Shape& shape = x.shape();
    const auto& own = factors[static_cast<std::size_t>(mode)];
    const auto& other = factors[static_cast<std::size_t>(3 - mode)];
    const auto other_gram = gram<double>(other.view(), Side::right);
    const Op orientation = mode == 1 ? Op::none : Op::transpose;
    auto sum = Matrix<double>::zeros(own.rows(), own.cols());
    for (Index i = 0; i < shape[0]; ++i) {
        const MatrixView<const double> patient{x.data() + i * shape[1] * shape[2], shape[1], shape[2]};
        auto part = product<double>(patient, other.view(), orientation);
        patient_gradient(factors[0].view().row(i), own, other_gram, part);
        const double norm = std::sqrt(squared_norm<double>(part.view()));
        add_scaled(sum, norm > clip ? clip / norm : 1, part);
    }
    return sum;
}

DpStatement gaussian_composition(double noise, Index releases, double delta) {
    const double rho = static_cast<double>(releases) / (2 * noise * noise);
    return {rho + 2 * std::sqrt(rho * std::log(1 / delta)), delta, releases};
}

}  // namespace couplet
