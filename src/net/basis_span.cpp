#include "basis_span.hpp"

#include <cmath>
#include <utility>

#include "couplet/linalg/products.hpp"

namespace couplet::net {
namespace {

// Far above what rounding leaves of a column inside the span; of what is smaller a product shows no digit.
constexpr double least_length = 1e-10;

/// What is left of the columns of `block` beyond an orthonormal basis: taken away twice, as once leaves rounding.
Matrix<double> residual(const Matrix<double>& known, Matrix<double> block) {
    if (known.size() == 0) return block;
    for (int again = 0; again < 2; ++again) {
        const Matrix<double> part = product<double>(transpose(known.view()).view(), block.view());
        const Matrix<double> inside = product<double>(known.view(), part.view());
        for (Index i = 0; i < block.size(); ++i) block.data()[i] -= inside.data()[i];
    }
    return block;
}

double dot(const Matrix<double>& a, Index i, Index j) {
    double sum = 0;
    for (Index n = 0; n < a.rows(); ++n) sum += a(n, i) * a(n, j);
    return sum;
}

/// Orthonormal directions of the columns, the longest that is left first.
Matrix<double> directions_of(Matrix<double> block) {
    Index found = 0;
    for (; found < block.cols(); ++found) {
        Index longest = found;
        double length2 = 0;
        for (Index j = found; j < block.cols(); ++j) {
            const double own = dot(block, j, j);
            if (own > length2) {
                length2 = own;
                longest = j;
            }
        }
        const double length = std::sqrt(length2);
        if (!(length > least_length)) break;
        for (Index n = 0; n < block.rows(); ++n) {
            std::swap(block(n, found), block(n, longest));
            block(n, found) /= length;
        }
        for (Index j = found + 1; j < block.cols(); ++j) {
            const double along = dot(block, found, j);
            for (Index n = 0; n < block.rows(); ++n) block(n, j) -= along * block(n, found);
        }
    }
    return leading_columns(block.view(), found);
}

}  // namespace

void BasisSpan::set_data(const std::string& name) {
    if (name == data_) return;
    data_ = name;
    known_ = Matrix<double>();
}

void BasisSpan::add(const Matrix<double>& basis) {
    if (basis.size() == 0) return;
    const Matrix<double> fresh = directions_of(residual(known_, Matrix<double>::copy(basis.view())));
    Matrix<double> all(basis.rows(), known_.cols() + fresh.cols());
    for (Index n = 0; n < basis.rows(); ++n) {
        for (Index j = 0; j < known_.cols(); ++j) all(n, j) = known_(n, j);
        for (Index j = 0; j < fresh.cols(); ++j) all(n, known_.cols() + j) = fresh(n, j);
    }
    known_ = std::move(all);
}

Index BasisSpan::outside(const Matrix<double>& basis) const {
    if (basis.size() == 0) return 0;
    return directions_of(residual(known_, Matrix<double>::copy(basis.view()))).cols();
}

}  // namespace couplet::net
