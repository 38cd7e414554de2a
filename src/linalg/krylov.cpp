#include "krylov.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

Matrix<double> random_columns(Index n, Index l, std::uint64_t seed) {
    Random random(seed, 0x6b72796c6f76);
    Matrix<double> q(n, l);
    for (Index i = 0; i < q.size(); ++i) q.data()[i] = random.normal();
    return q;
}

}  // namespace

Matrix<double> krylov_space(const SymmetricOperator& apply, Index n, const KrylovOptions& options) {
    const Index block = std::min(options.block, n);
    auto q = random_columns(n, block, options.seed);
    orthonormalise_columns(q.view());
    std::vector<Matrix<double>> blocks;
    for (int t = 0; t < options.passes; ++t) {
        q = apply(q.view());
        orthonormalise_columns(q.view());
        blocks.push_back(Matrix<double>::copy(q.view()));
    }
    Matrix<double> space = std::move(blocks.back());
    for (std::size_t t = blocks.size() - 1; t-- > 0;) {
        const Index room = n - space.cols();
        if (room <= 0) break;
        auto extra = leading_columns(blocks[t].view(), std::min(room, blocks[t].cols()));
        space = extend_basis(space, std::move(extra));
    }
    return space;
}

std::optional<SymmetricEigen> krylov_eigen(MatrixView<const double> a, Index count, double tolerance) {
    const Index n = a.rows;
    const Index block = std::min(n, count + 8);
    const double total = trace(a);
    auto q = random_columns(n, block, 0);
    orthonormalise_columns(q.view());
    // Each pass applies A twice, so that the space gains a power of A^2; past n/2 columns the direct solver
    // is cheaper.
    Matrix<double> space(n, 0);
    double before = -1;
    while (space.cols() + block <= n / 2) {
        q = product<double>(a, q.view());
        orthonormalise_columns(q.view());
        q = product<double>(a, q.view());
        space = extend_basis(space, std::move(q));
        if (space.cols() < count) return std::nullopt;
        const auto image = product<double>(a, space.view());
        const auto small = product<double>(space.view(), image.view(), Op::transpose);
        const auto ritz = symmetric_eigen(small.view(), count);
        double sum = 0;
        for (const double value : ritz.values) sum += value;
        if (before >= 0 && sum - before <= tolerance * std::max(total - sum, 0.0)) {
            SymmetricEigen result{ritz.values, product<double>(space.view(), ritz.vectors.view())};
            apply_sign_rule(result.vectors.view());
            return result;
        }
        // Still far from settled after a second pass: the direct solver will be faster.
        if (before >= 0 && sum - before > 1e-3 * std::max(total - sum, 0.0)) return std::nullopt;
        before = sum;
        q = leading_columns(product<double>(space.view(), ritz.vectors.view()).view(), std::min(count, block));
        if (q.cols() < block) {
            auto padded = random_columns(n, block, static_cast<std::uint64_t>(space.cols()));
            for (Index i = 0; i < n; ++i) std::copy_n(q.view().row(i), q.cols(), padded.view().row(i));
            q = std::move(padded);
        }
    }
    return std::nullopt;
}

}  // namespace couplet
