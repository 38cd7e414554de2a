#include "couplet/linalg/qr.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "blas.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

/// Folds the rows of `part` into one row-major upper triangle of order n = part.cols, at most n rows.
///
/// A row-major matrix is its transpose in LAPACK's eyes, so the LQ factorisation of that transpose is the QR
/// we want: rows are appended below the triangle and no transposition is needed.
template <Real T>
Matrix<double> fold_rows(MatrixView<const T> part) {
    const Index n = part.cols;
    // Four triangles' worth of rows keep the cost of factoring the triangle again near 25%; 256 KiB suits any
    // L2.
    const Index block = std::max<Index>(4 * n, 32 * 1024 / std::max<Index>(n, 1));
    Matrix<double> stack(std::min(block, part.rows) + n, n);
    std::vector<double> tau(static_cast<std::size_t>(n));
    Index held = 0;
    for (Index i0 = 0; i0 < part.rows; i0 += block) {
        const Index count = std::min(block, part.rows - i0);
        convert_into(part.rows_from(i0, count), stack.view().rows_from(held, count));
        const Index rows = held + count;
        blas::gelqf<double>(n, rows, stack.data(), n, tau.data());
        held = std::min(rows, n);
        for (Index i = 1; i < held; ++i) std::fill_n(stack.view().row(i), i, 0.0);
    }
    // The triangle alone: many of them wait to be merged.
    return Matrix<double>::copy(stack.view().rows_from(0, held));
}

/// Rows of two triangles under one another, folded again.
Matrix<double> merge(const Matrix<double>& upper, const Matrix<double>& lower) {
    Matrix<double> stack(upper.rows() + lower.rows(), upper.cols());
    std::copy_n(upper.data(), upper.size(), stack.data());
    std::copy_n(lower.data(), lower.size(), stack.data() + upper.size());
    return fold_rows<double>(stack.view());
}

template <Real T>
Matrix<double> fold_all_rows(MatrixView<const T> a) {
    // Parts depend on the shape alone and merge pairwise in order, so the result does not depend on threads.
    const Index rows_per_part = std::max<Index>(8 * a.cols, 4096);
    const auto parts = Partition::even(a.rows, std::min<Index>(a.rows / rows_per_part, 64));
    std::vector<Matrix<double>> triangles(static_cast<std::size_t>(parts.count()));
    parallel_for(parts.count(), [&](Index p) {
        triangles[static_cast<std::size_t>(p)] = fold_rows(a.rows_from(parts.begin(p), parts.length(p)));
    });
    while (triangles.size() > 1) {
        std::vector<Matrix<double>> next((triangles.size() + 1) / 2);
        parallel_for(static_cast<Index>(next.size()), [&](Index p) {
            const auto i = static_cast<std::size_t>(p);
            next[i] = 2 * i + 1 < triangles.size() ? merge(triangles[2 * i], triangles[2 * i + 1])
                                                   : std::move(triangles[2 * i]);
        });
        triangles = std::move(next);
    }
    return std::move(triangles.front());
}

/// Columns of a wide matrix, block by block, as rows of a tall one.
template <Real T>
Matrix<double> fold_all_columns(MatrixView<const T> a) {
    const Index block = std::max<Index>(4 * a.rows, 2048);
    const auto parts = Partition::even(a.cols, a.cols / block);
    std::vector<Matrix<double>> triangles(static_cast<std::size_t>(parts.count()));
    parallel_for(parts.count(), [&](Index p) {
        const auto part = a.cols_from(parts.begin(p), parts.length(p));
        triangles[static_cast<std::size_t>(p)] = fold_rows<T>(transpose(part).view());
    });
    Matrix<double> result = std::move(triangles.front());
    for (std::size_t p = 1; p < triangles.size(); ++p) result = merge(result, triangles[p]);
    return result;
}

/// What remains of `block` outside the space of `basis` (orthonormal columns).
void project_out(const Matrix<double>& basis, Matrix<double>& block, int times) {
    for (int repeat = 0; repeat < times; ++repeat) {
        const auto coefficients = product<double>(basis.view(), block.view(), Op::transpose);
        multiply<double>(basis.view(), Op::none, coefficients.view(), Op::none, block.view(), -1.0, 1.0);
    }
}

/// Orthonormal directions of `block` that carry at least `least`.
Matrix<double> significant_directions(Matrix<double> block, double least) {
    auto r = orthonormalise_columns(block.view());
    const double largest = max_magnitude<double>(r.view());
    if (!(largest > least)) return Matrix<double>(block.rows(), 0);
    bool all = true;
    for (Index j = 0; j < r.cols(); ++j) all = all && r(j, j) > least;
    if (all) return block;
    // The basis vector of a dependent column is rounding, yet later columns may lean on it: it cannot just be dropped.
    // The singular directions of R tell what can.
    for (Index i = 0; i < r.size(); ++i) r.data()[i] /= largest;
    const auto eigen = symmetric_eigen(product<double>(r.view(), r.view(), Op::none, Op::transpose).view());
    const double least2 = (least / largest) * (least / largest);
    Index kept = 0;
    while (kept < r.cols() && eigen.values[static_cast<std::size_t>(kept)] > least2) ++kept;
    return product<double>(block.view(), leading_columns(eigen.vectors.view(), kept).view());
}

/// Length of the longest column.
double longest_column(const Matrix<double>& a) {
    std::vector<double> squares(static_cast<std::size_t>(a.cols()), 0.0);
    const double largest = max_magnitude<double>(a.view());
    if (largest == 0) return 0;
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) {
            squares[static_cast<std::size_t>(j)] += a(i, j) / largest * (a(i, j) / largest);
        }
    }
    return largest * std::sqrt(*std::ranges::max_element(squares));
}

Matrix<double> side_by_side(const Matrix<double>& a, const Matrix<double>& b) {
    Matrix<double> result(a.rows(), a.cols() + b.cols());
    for (Index i = 0; i < a.rows(); ++i) {
        std::copy_n(a.view().row(i), a.cols(), result.view().row(i));
        std::copy_n(b.view().row(i), b.cols(), result.view().row(i) + a.cols());
    }
    return result;
}

struct CholeskyFactor {
    Matrix<double> r;
    bool nearly_orthogonal;  ///< columns whose condition is below 1.3: one pass leaves nothing to repair
};

/// R with G = R^T R for the Gram matrix G of columns scaled to length 1 first; empty when they are too nearly dependent
/// for their Gram matrix to tell.
std::optional<CholeskyFactor> cholesky_of_columns(const Matrix<double>& g) {
    const Index n = g.rows();
    std::vector<double> length(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
        length[static_cast<std::size_t>(i)] = std::sqrt(g(i, i));
        if (!(g(i, i) > 1e-280) || !(g(i, i) < 1e280)) return std::nullopt;
    }
    Matrix<double> r(n, n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            r(i, j) = g(i, j) / (length[static_cast<std::size_t>(i)] * length[static_cast<std::size_t>(j)]);
        }
    }
    const bool nearly_orthogonal = squared_norm<double>(r.view()) - static_cast<double>(n) < 0.01;
    if (!blas::potrf(n, r.data())) return std::nullopt;
    for (Index i = 0; i < n; ++i) {
        // A diagonal below this means a condition beyond what two passes repair.
        if (!(r(i, i) > 1e-5)) return std::nullopt;
        for (Index j = i; j < n; ++j) r(i, j) *= length[static_cast<std::size_t>(j)];
    }
    return CholeskyFactor{std::move(r), nearly_orthogonal};
}

/// A R^-1 for an upper triangle R.
template <Real T>
Matrix<T> times_inverse(MatrixView<const T> a, const Matrix<double>& r) {
    auto inverse = Matrix<double>::copy(r.view());
    blas::trtri(r.cols(), inverse.data());
    return product<T>(a, convert<T>(inverse.view()).view());
}

/// CholeskyQR2 (Yamamoto et al. 2015): two passes of A <- A R^-1 with R from the Gram matrix, all in matrix products.
/// Returns R, or nothing (and leaves A alone) when the columns are too nearly dependent.
template <Real T>
std::optional<Matrix<double>> cholesky_qr(MatrixView<T> a) {
    auto first = cholesky_of_columns(gram<T>(a, Side::right));
    if (!first) return std::nullopt;
    const auto q = times_inverse<T>(a, first->r);
    if (first->nearly_orthogonal) {
        std::copy_n(q.data(), q.size(), a.data);
        return std::move(first->r);
    }
    auto second = cholesky_of_columns(gram<T>(q.view(), Side::right));
    if (!second) return std::nullopt;
    const auto result = times_inverse<T>(q.view(), second->r);
    std::copy_n(result.data(), result.size(), a.data);
    return product<double>(second->r.view(), first->r.view());
}

}  // namespace

Matrix<double> extend_basis(const Matrix<double>& basis, Matrix<double> block) {
    // Of the block as it was given: what projection leaves of a block inside the space is rounding, however it compares
    // with itself.
    const double least = 1e-6 * longest_column(block);
    if (basis.cols() == 0) return significant_directions(std::move(block), least);
    project_out(basis, block, 2);
    block = significant_directions(std::move(block), least);
    if (block.cols() > 0) {
        // Normalising a direction of 1e-6 magnifies what rounding left of the basis in it a million times.
        project_out(basis, block, 1);
        orthonormalise_columns(block.view());
    }
    return side_by_side(basis, block);
}

template <Real T>
Matrix<double> triangular_factor(MatrixView<const T> a, Side side) {
    return side == Side::right ? fold_all_rows(a) : fold_all_columns(a);
}

template <Real T>
Matrix<T> orthonormalise_columns(MatrixView<T> a) {
    if (a.rows < a.cols || a.stride != a.cols) {
        throw InputError({"orthonormalise", std::to_string(a.rows) + "x" + std::to_string(a.cols),
                          "a contiguous matrix with at least as many rows as columns", ""});
    }
    const Index n = a.cols;
    auto r = Matrix<T>::zeros(n, n);
    if (n == 0) return r;
    // Householder reflections of a tall matrix are bound by memory; products are not.
    if (a.rows >= 4 * n && n >= 8) {
        if (const auto fast = cholesky_qr(a)) return convert<T>(fast->view());
    }
    std::vector<T> tau(static_cast<std::size_t>(n));
    blas::gelqf<T>(n, a.rows, a.data, n, tau.data());
    for (Index i = 0; i < n; ++i) std::copy_n(a.row(i) + i, n - i, r.view().row(i) + i);
    blas::orglq<T>(n, a.rows, n, a.data, n, tau.data());
    for (Index j = 0; j < n; ++j) {
        if (r(j, j) >= 0) continue;
        for (Index i = 0; i < a.rows; ++i) a(i, j) = -a(i, j);
        for (Index k = j; k < n; ++k) r(j, k) = -r(j, k);
    }
    return r;
}

template Matrix<double> triangular_factor(MatrixView<const float>, Side);
template Matrix<double> triangular_factor(MatrixView<const double>, Side);
template Matrix<float> orthonormalise_columns(MatrixView<float>);
template Matrix<double> orthonormalise_columns(MatrixView<double>);

}  // namespace couplet
