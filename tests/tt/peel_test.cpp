#include "peel.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "couplet/linalg/qr.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::orthonormality_residual;
using support::random_matrix;

/// The map that the cores stand for: (own) x rank.
Matrix<double> map_of(const PeeledEnd& end, Side side, Index own) {
    // A left end's cores multiply to (bond, modes, rank), a right end's to (rank, modes, bond).
    auto result = Matrix<double>::copy(end.cores.front().view().unfold(side == Side::left ? 2 : 1));
    if (side == Side::left) {
        for (std::size_t n = 1; n < end.cores.size(); ++n) {
            const auto next = end.cores[n].view().unfold(1);
            auto grown = naive_product(result.view(), next);
            grown.reshape(grown.size() / end.cores[n].shape()[2], end.cores[n].shape()[2]);
            result = std::move(grown);
        }
        return result;
    }
    result.reshape(result.size() / end.cores.front().shape()[2], end.cores.front().shape()[2]);
    for (std::size_t n = 1; n < end.cores.size(); ++n) {
        auto grown = naive_product(result.view(), end.cores[n].view().unfold(1));
        grown.reshape(grown.size() / end.cores[n].shape()[2], end.cores[n].shape()[2]);
        result = std::move(grown);
    }
    result.reshape(result.size() / own, own);
    return transpose(result.view());
}

/// Data with decaying singular values at every bond, rows x (bond * modes).
Matrix<double> decaying(Index rows, Index cols) {
    auto a = random_matrix<double>(rows, cols);
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
            a(i, j) = 1.0 / static_cast<double>(1 + i + j) + 1e-3 * a(i, j);
        }
    }
    return a;
}

/// With M the map: M^T M = I, the cores multiply to M, ||A - A M M^T||^2 = tail2 to 1e-13 ||A||^2.
void check(bool from_gram, Side side, const std::vector<Index>& modes, Index bond, const SvdOptions& options) {
    SCOPED_TRACE(testing::Message() << (from_gram ? "gram" : "factor") << " side " << int(side) << " modes "
                                    << modes.size() << " bond " << bond << " tail " << options.max_tail);
    Index own = bond;
    for (const Index size : modes) own *= size;
    const auto a = decaying(101, own);
    const std::vector<SvdOptions> cuts(modes.size(), options);
    const auto end = from_gram ? peel_gram(gram<double>(a.view(), Side::right), side, modes, bond, cuts, a.rows())
                               : peel_factor(triangular_factor<double>(a.view(), Side::right), side, modes, bond, cuts);
    ASSERT_EQ(end.cores.size(), modes.size());
    for (std::size_t n = 0; n < modes.size(); ++n) {
        EXPECT_EQ(end.cores[n].shape()[1], modes[n]);
        EXPECT_LE(end.cores[n].shape()[side == Side::left ? 2 : 0], options.max_rank);
        const auto unfolding = side == Side::left ? Matrix<double>::copy(end.cores[n].view().unfold(2))
                                                  : transpose(end.cores[n].view().unfold(1));
        EXPECT_LT(orthonormality_residual(unfolding.view()), 50);
    }
    const auto map = map_of(end, side, own);
    EXPECT_EQ(map.cols(), end.rank);
    if (end.map) {
        EXPECT_LE(naive_distance(map.view(), end.map->view()), 1e-13);
    }
    const double norm = naive_norm(a.view());
    const double error = support::projection_error(a.view(), map);
    const double tail2 = std::accumulate(end.tails2.begin(), end.tails2.end(), 0.0);
    EXPECT_EQ(end.tails2.size(), modes.size());
    EXPECT_NEAR(error * error, tail2, 1e-13 * norm * norm);
    if (!end.rank_limited && options.max_tail > 0) {
        EXPECT_LE(error, options.max_tail * std::sqrt(static_cast<double>(modes.size())) * (1 + 1e-9));
    }
}

TEST(Peel, CoresMultiplyToAnOrthonormalMapWithTheStatedTail) {
    for (const bool from_gram : {false, true}) {
        for (const Side side : {Side::left, Side::right}) {
            for (const Index bond : {1, 3}) {
                for (const auto& modes : {std::vector<Index>{1}, {5}, {2, 3}, {3, 2, 2}, {2, 2, 2, 2}}) {
                    for (const double tail : {0.0, 1e-2, 0.3}) {
                        check(from_gram, side, modes, bond, {.max_tail = tail});
                        check(from_gram, side, modes, bond, {.max_tail = tail, .max_rank = 3});
                    }
                }
            }
        }
    }
}

TEST(Peel, KeepingEverythingNeedsNoMap) {
    const auto a = random_matrix<double>(30, 12);
    const auto end = peel_gram(gram<double>(a.view(), Side::right), Side::right, {3, 4}, 1, {{}, {}}, a.rows());
    EXPECT_FALSE(end.map);
    EXPECT_EQ(end.rank, 12);
    EXPECT_EQ(end.tails2, (std::vector<double>{0, 0}));
    EXPECT_TRUE(end.trusted);
}

TEST(Peel, NothingToCutGivesIdentities) {
    for (const Side side : {Side::left, Side::right}) {
        const auto end = peel_nothing(side, {3, 4}, 2);
        EXPECT_FALSE(end.map);
        EXPECT_EQ(end.rank, 24);
        const auto map = map_of(end, side, 24);
        EXPECT_EQ(naive_distance(map.view(), Matrix<double>::identity(24).view()), 0);
    }
}

TEST(Peel, ABasisIsTheMapOfOneMode) {
    const auto a = decaying(101, 15);
    const auto basis = dominant_basis<double>(a.view(), Side::right, {.max_rank = 4});
    for (const Side side : {Side::left, Side::right}) {
        const auto end = peel_basis(basis, side, 5, 3);
        ASSERT_TRUE(end.map);
        EXPECT_EQ(naive_distance(end.map->view(), basis.vectors.view()), 0);
        EXPECT_LE(naive_distance(map_of(end, side, 15).view(), basis.vectors.view()), 0);
        EXPECT_EQ(end.tails2, std::vector<double>{basis.tail2});
    }
}

TEST(Peel, EachBondHasItsOwnLimit) {
    const auto a = decaying(101, 24);
    for (const Side side : {Side::left, Side::right}) {
        // From the outside in: the mode of size 2 (left) or 4 (right) first.
        const std::vector<SvdOptions> cuts{{}, {.max_rank = 5}, {.max_tail = 0.05}};
        const auto end = peel_factor(triangular_factor<double>(a.view(), Side::right), side, {2, 3, 4}, 1, cuts);
        const auto rank_after = [&](std::size_t j) {
            return side == Side::left ? end.cores[j].shape()[2] : end.cores[2 - j].shape()[0];
        };
        EXPECT_EQ(rank_after(0), side == Side::left ? 2 : 4);
        EXPECT_EQ(rank_after(1), 5);
        EXPECT_EQ(end.tails2[0], 0);
        EXPECT_LE(end.tails2[2], 0.05 * 0.05);
        const double error = support::projection_error(a.view(), map_of(end, side, 24));
        EXPECT_NEAR(error * error, end.tails2[1] + end.tails2[2], 1e-13);
    }
}

TEST(Peel, GramSaysWhenItCannotBeTrusted) {
    const auto a = support::matrix_with_spectrum(40, 12, support::geometric(12, 0.05));
    const auto g = gram<double>(a.view(), Side::right);
    EXPECT_TRUE(peel_gram(Matrix<double>::copy(g.view()), Side::left, {3, 4}, 1, {{.max_rank = 2}, {.max_rank = 2}}, 40)
                    .trusted);
    EXPECT_FALSE(peel_gram(Matrix<double>::copy(g.view()), Side::left, {12}, 1, {{.max_rank = 8}}, 40).trusted);
}

}  // namespace
}  // namespace couplet
