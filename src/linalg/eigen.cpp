#include "couplet/linalg/eigen.hpp"

#include <algorithm>

#include "blas.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tensor/partition.hpp"
#include "reduction.hpp"
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

/// H_first ... H_{first + count - 1} = I - V T V^T with the vectors as the rows of V^T (Schreiber and Van Loan 1989).
struct ReflectorBlock {
    Index first;
    Matrix<double> v;  ///< count x (n - 1 - first)
    Matrix<double> t;  ///< count x count, upper triangle
};

ReflectorBlock make_block(const Matrix<double>& reflectors, const std::vector<double>& tau, Index n, Index first,
                          Index count) {
    const Index length = n - 1 - first;
    ReflectorBlock block{first, Matrix<double>(count, length), Matrix<double>::zeros(count, count)};
    for (Index i = 0; i < count; ++i) {
        double* row = block.v.view().row(i);
        std::fill_n(row, i, 0.0);
        row[i] = 1;
        std::copy_n(reflectors.view().row(first + i) + first + 2 + i, length - i - 1, row + i + 1);
    }
    const auto overlap = product<double>(block.v.view(), block.v.view(), Op::none, Op::transpose);
    for (Index j = 0; j < count; ++j) {
        const double scale = tau[static_cast<std::size_t>(first + j)];
        block.t(j, j) = scale;
        for (Index i = 0; i < j; ++i) {
            double sum = 0;
            for (Index l = i; l < j; ++l) sum += block.t(i, l) * overlap(l, j);
            block.t(i, j) = -scale * sum;
        }
    }
    return block;
}

/// Z <- Q Z with Q = H_0 H_1 ... H_{n-2} from the tridiagonal reduction, in blocks of reflectors and all in matrix
/// products; each thread takes columns of Z through all of them.
void apply_reflectors(const Matrix<double>& reflectors, const std::vector<double>& tau, Matrix<double>& z) {
    const Index n = z.rows();
    if (n < 2) return;
    constexpr Index small = 256;  // half of 32 columns of this order fits into a first-level cache
    if (n <= small) return apply_one_by_one(reflectors, tau, z);
    const Index size = std::clamp<Index>(n / 4, 32, 48);
    const auto groups = Partition::blocks(n - 1, size);
    std::vector<ReflectorBlock> blocks(static_cast<std::size_t>(groups.count()));
    parallel_for(groups.count(), [&](Index b) {
        blocks[static_cast<std::size_t>(b)] = make_block(reflectors, tau, n, groups.begin(b), groups.length(b));
    });
    constexpr Index narrowest = 24;
    const auto columns = Partition::even(z.cols(), std::min<Index>(z.cols() / narrowest, 32));
    parallel_for(columns.count(), [&](Index p) {
        const Index width = columns.length(p);
        double* own = z.data() + columns.begin(p);
        Matrix<double> projected(size, width);
        Matrix<double> weighted(size, width);
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            const Index count = block->v.rows();
            const Index length = block->v.cols();
            double* below = own + (block->first + 1) * z.cols();
            blas::gemm(false, false, count, width, length, 1.0, block->v.data(), length, below, z.cols(), 0.0,
                       projected.data(), width);
            blas::gemm(false, false, count, width, count, 1.0, block->t.data(), count, projected.data(), width, 0.0,
                       weighted.data(), width);
            blas::gemm(true, false, length, width, count, -1.0, block->v.data(), length, weighted.data(), width, 1.0,
                       below, z.cols());
        }
    });
}

}  // namespace

TridiagonalForm::TridiagonalForm(MatrixView<const double> a) {
    require_square(a);
    auto reduction = tridiagonalise(a);
    reflectors_ = std::move(reduction.reflectors);
    diagonal_ = std::move(reduction.diagonal);
    off_diagonal_ = std::move(reduction.off_diagonal);
    tau_ = std::move(reduction.tau);
}

std::vector<double> TridiagonalForm::values() const {
    auto d = diagonal_;
    auto e = off_diagonal_;
    blas::sterf(static_cast<Index>(d.size()), d.data(), e.data());
    std::ranges::reverse(d);
    return d;
}

std::vector<double> TridiagonalForm::top_values(Index count) const {
    // Searching for 32 values costs what all values cost at this order (0.15 us n against 13 ns n^2).
    constexpr Index break_even = 12;
    if (break_even * ((count + 31) / 32) >= static_cast<Index>(diagonal_.size())) {
        auto all = values();
        all.resize(static_cast<std::size_t>(count));
        return all;
    }
    return tridiagonal_values(diagonal_, off_diagonal_, count);
}

Matrix<double> TridiagonalForm::top_vectors(std::span<const double> values) const {
    const auto count = static_cast<Index>(values.size());
    if (prefers_all(count)) return leading_columns(all().vectors.view(), count);
    auto z = tridiagonal_vectors(diagonal_, off_diagonal_, values);
    if (z.size() == 0) return leading_columns(all().vectors.view(), count);
    apply_reflectors(reflectors_, tau_, z);
    apply_sign_rule(z.view());
    return z;
}

SymmetricEigen TridiagonalForm::all() const {
    const auto n = static_cast<Index>(diagonal_.size());
    auto d = diagonal_;
    auto e = off_diagonal_;
    Matrix<double> columns(n, n);  // column-major, ascending
    blas::stedc(n, d.data(), e.data(), columns.data());
    SymmetricEigen result{{d.rbegin(), d.rend()}, reversed_columns(columns.data(), n, n)};
    apply_reflectors(reflectors_, tau_, result.vectors);
    apply_sign_rule(result.vectors.view());
    return result;
}

// Divide and conquer computes all vectors in matrix products; past about two thirds of them it beats computing a part.
bool TridiagonalForm::prefers_all(Index count) const { return 3 * count > 2 * static_cast<Index>(diagonal_.size()); }

SymmetricEigen symmetric_eigen(MatrixView<const double> a, Index count) {
    require_square(a);
    const Index n = a.rows;
    if (count < 0 || count > n) count = n;
    const TridiagonalForm form(a);
    if (form.prefers_all(count)) {
        auto result = form.all();
        if (count == n) return result;
        result.values.resize(static_cast<std::size_t>(count));
        result.vectors = leading_columns(result.vectors.view(), count);
        return result;
    }
    auto values = form.top_values(count);
    auto vectors = form.top_vectors(values);
    return {std::move(values), std::move(vectors)};
}

}  // namespace couplet
