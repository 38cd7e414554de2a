#include "couplet/linalg/eigen.hpp"

#include <algorithm>

#include "blas.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "tridiagonal.hpp"

namespace couplet {
namespace {

void require_square(MatrixView<const double> a) {
    if (a.rows == a.cols && a.rows > 0) return;
    throw InputError({"symmetric eigenproblem", std::to_string(a.rows) + "x" + std::to_string(a.cols),
                      "a square matrix with at least one row", ""});
}

/// Columns of a column-major n x count matrix in reverse order, as a row-major matrix.
Matrix<double> reversed_columns(const double* columns, Index n, Index count) {
    Matrix<double> result(n, count);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < count; ++j) result(i, j) = columns[(count - 1 - j) * n + i];
    }
    return result;
}

/// Z <- Q Z with Q = H_0 H_1 ... H_{n-2} from the tridiagonal reduction: row i of `reflectors` holds the vector of H_i
/// past index i, its first entry 1 left out. Blocks of reflectors are applied as I - V T V^T (Schreiber and Van Loan
/// 1989), all in matrix products.
void apply_reflectors(const Matrix<double>& reflectors, const std::vector<double>& tau, Matrix<double>& z) {
    const Index n = reflectors.rows();
    const Index block = std::clamp<Index>(n / 4, 32, 48);
    for (Index end = n - 1; end > 0;) {
        const Index first = std::max<Index>(0, end - block);
        const Index count = end - first;
        const Index length = n - 1 - first;  // entries of the longest vector of the block
        auto v = Matrix<double>::zeros(count, length);
        for (Index i = 0; i < count; ++i) {
            v(i, i) = 1;
            for (Index j = i + 1; j < length; ++j) v(i, j) = reflectors(first + i, first + 1 + j);
        }
        const auto overlap = product<double>(v.view(), v.view(), Op::none, Op::transpose);
        auto t = Matrix<double>::zeros(count, count);
        for (Index j = 0; j < count; ++j) {
            const double scale = tau[static_cast<std::size_t>(first + j)];
            t(j, j) = scale;
            for (Index i = 0; i < j; ++i) {
                double sum = 0;
                for (Index l = i; l < j; ++l) sum += t(i, l) * overlap(l, j);
                t(i, j) = -scale * sum;
            }
        }
        const auto below = z.view().rows_from(first + 1, length);
        const auto projected = product<double>(v.view(), below);
        const auto weighted = product<double>(t.view(), projected.view());
        multiply<double>(v.view(), Op::transpose, weighted.view(), Op::none, below, -1.0, 1.0);
        end = first;
    }
}

}  // namespace

TridiagonalForm::TridiagonalForm(MatrixView<const double> a) {
    require_square(a);
    const auto n = static_cast<std::size_t>(a.rows);
    reflectors_ = Matrix<double>::copy(a);
    diagonal_.resize(n);
    off_diagonal_.resize(n);
    tau_.resize(n);
    blas::sytrd(a.rows, reflectors_.data(), diagonal_.data(), off_diagonal_.data(), tau_.data());
}

std::vector<double> TridiagonalForm::values() const {
    auto d = diagonal_;
    auto e = off_diagonal_;
    blas::sterf(reflectors_.rows(), d.data(), e.data());
    std::ranges::reverse(d);
    return d;
}

std::vector<double> TridiagonalForm::top_values(Index count) const {
    // Bisection of 32 values costs what all values cost at this order (measured: 1.1 us n against 12 ns n^2).
    constexpr Index break_even = 92;
    if (break_even * ((count + 31) / 32) >= reflectors_.rows()) {
        auto all = values();
        all.resize(static_cast<std::size_t>(count));
        return all;
    }
    return tridiagonal_values(diagonal_, off_diagonal_, count);
}

Matrix<double> TridiagonalForm::top_vectors(std::span<const double> values) const {
    const Index n = reflectors_.rows();
    const auto count = static_cast<Index>(values.size());
    auto z = tridiagonal_vectors(diagonal_, off_diagonal_, values);
    if (z.size() == 0) {
        auto d = diagonal_;
        auto e = off_diagonal_;
        Matrix<double> columns(n, n);  // column-major, ascending
        blas::stedc(n, d.data(), e.data(), columns.data());
        z = reversed_columns(columns.data() + (n - count) * n, n, count);
    }
    apply_reflectors(reflectors_, tau_, z);
    apply_sign_rule(z.view());
    return z;
}

SymmetricEigen symmetric_eigen(MatrixView<const double> a, Index count) {
    require_square(a);
    const Index n = a.rows;
    if (count < 0 || count > n) count = n;
    // Divide and conquer computes all vectors in GEMM form; past about two thirds of them it beats computing
    // a part.
    if (3 * count <= 2 * n) {
        const TridiagonalForm form(a);
        auto values = form.top_values(count);
        auto vectors = form.top_vectors(values);
        return {std::move(values), std::move(vectors)};
    }
    auto work = Matrix<double>::copy(a);
    std::vector<double> ascending(static_cast<std::size_t>(n));
    blas::syevd(n, work.data(), ascending.data());
    SymmetricEigen result;
    result.values.assign(ascending.rbegin(), ascending.rbegin() + count);
    result.vectors = reversed_columns(work.data() + (n - count) * n, n, count);
    apply_sign_rule(result.vectors.view());
    return result;
}

}  // namespace couplet
