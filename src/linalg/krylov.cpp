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

}  // namespace couplet
