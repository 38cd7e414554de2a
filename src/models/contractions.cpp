#include "contractions.hpp"

#include <algorithm>
#include <utility>

#include "plain.hpp"

namespace couplet {
namespace {

/// Core n as (r_{n-1} I_n) x r_n.
MatrixView<const double> unfolded(const Tensor<double>& core) {
    const Shape& s = core.shape();
    return {core.data(), s[0] * s[1], s[2]};
}

/// out(a, r) = sum_i open(a i, r) factor(i, r).
Matrix<double> closed(const Matrix<double>& open, const Matrix<double>& factor) {
    const Index modes = factor.rows();
    const Index rank = factor.cols();
    auto out = Matrix<double>::zeros(open.rows() / modes, rank);
    for (Index a = 0; a < out.rows(); ++a) {
        double* const sums = out.view().row(a);
        for (Index i = 0; i < modes; ++i) {
            const double* const values = open.view().row(a * modes + i);
            const double* const weights = factor.view().row(i);
            for (Index r = 0; r < rank; ++r) sums[r] += values[r] * weights[r];
        }
    }
    return out;
}

/// Rows (a, i) of the Khatri-Rao product of left (a x R) and factor (I x R).
Matrix<double> khatri_rao(const Matrix<double>& left, const Matrix<double>& factor) {
    Matrix<double> out(left.rows() * factor.rows(), factor.cols());
    for (Index a = 0; a < left.rows(); ++a) {
        for (Index i = 0; i < factor.rows(); ++i) {
            double* const row = out.view().row(a * factor.rows() + i);
            for (Index r = 0; r < factor.cols(); ++r) row[r] = left(a, r) * factor(i, r);
        }
    }
    return out;
}

Matrix<double> ones(Index rows, Index cols) {
    Matrix<double> m(rows, cols);
    std::fill_n(m.data(), m.size(), 1.0);
    return m;
}

}  // namespace

void Contractions::backward(const std::vector<Matrix<double>>& factors) {
    open_.resize(cores_.size());
    Matrix<double> right = ones(1, factors.front().cols());
    for (std::size_t n = cores_.size(); n-- > 0;) {
        open_[n] = plain::product(unfolded(cores_[n]), right.view());
        right = closed(open_[n], factors[n]);
    }
    left_ = ones(1, factors.front().cols());
}

Matrix<double> Contractions::product(std::size_t n) const {
    const Index modes = cores_[n].shape()[1];
    auto out = Matrix<double>::zeros(modes, left_.cols());
    for (Index a = 0; a < left_.rows(); ++a) {
        const double* const weights = left_.view().row(a);
        for (Index i = 0; i < modes; ++i) {
            const double* const values = open_[n].view().row(a * modes + i);
            double* const sums = out.view().row(i);
            for (Index r = 0; r < out.cols(); ++r) sums[r] += values[r] * weights[r];
        }
    }
    return out;
}

void Contractions::forward(std::size_t n, const Matrix<double>& factor) {
    const auto rows = khatri_rao(left_, factor);
    left_ = transpose(plain::turned_product(rows.view(), unfolded(cores_[n])).view());
}

Matrix<double> inner_products(const TensorTrain<double>& a, const TensorTrain<double>& b) {
    Matrix<double> right = ones(1, 1);
    for (Index n = a.order(); n-- > 0;) {
        const Shape left_shape = a.core(n).shape();
        const Shape right_shape = b.core(n).shape();
        // (a i) x b', then over (i, b') at once.
        auto open = plain::product(a.left_unfolding(n), right.view());
        open.reshape(left_shape[0], left_shape[1] * right_shape[2]);
        const auto other = transpose(b.right_unfolding(n));
        right = plain::product(open.view(), other.view());
    }
    return right;
}

Matrix<double> gram_product(const std::vector<Matrix<double>>& factors, Index skipped) {
    Matrix<double> result = ones(factors.front().cols(), factors.front().cols());
    for (std::size_t n = 0; n < factors.size(); ++n) {
        if (static_cast<Index>(n) == skipped) continue;
        const auto gram = plain::turned_product(factors[n].view(), factors[n].view());
        for (Index i = 0; i < result.size(); ++i) result.data()[i] *= gram.data()[i];
    }
    return result;
}

}  // namespace couplet
