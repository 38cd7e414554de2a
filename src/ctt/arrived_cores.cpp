#include "couplet/ctt/arrived_cores.hpp"

#include <cmath>
#include <utility>

#include "couplet/linalg/products.hpp"
#include "couplet/tt/rounding.hpp"

namespace couplet {
namespace {

// Cores made by any QR are orthonormal to this; others are made so again.
constexpr double orthonormal_to = 1e-9;

}  // namespace

bool is_identity(const Matrix<double>& g) {
    for (Index i = 0; i < g.rows(); ++i) {
        for (Index j = 0; j < g.cols(); ++j) {
            if (!(std::abs(g(i, j) - (i == j ? 1.0 : 0.0)) < orthonormal_to)) return false;
        }
    }
    return true;
}

TensorTrain<double> left_orthonormal(std::vector<Tensor<double>> cores) {
    bool holds = true;
    for (std::size_t n = 0; holds && n + 1 < cores.size(); ++n) {
        const Shape& shape = cores[n].shape();
        holds = shape[0] * shape[1] >= shape[2] && is_identity(gram<double>(cores[n].view().unfold(2), Side::right));
    }
    std::vector<Orthogonality> kinds(cores.size(), Orthogonality::left);
    kinds.back() = Orthogonality::none;
    if (holds) return TensorTrain<double>(std::move(cores), std::move(kinds));
    return left_orthonormalise(TensorTrain<double>(std::move(cores))).train;
}

}  // namespace couplet
