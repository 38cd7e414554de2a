#include "couplet/ctt/merge.hpp"

#include "couplet/core/error.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

struct Blocks {
    std::vector<FeatureBlock> blocks;
    std::vector<const FeatureBlock*> pointers() const {
        std::vector<const FeatureBlock*> result;
        for (const auto& block : blocks) result.push_back(&block);
        return result;
    }
    /// S multiplied out, as a tensor.
    Tensor<double> stacked() const {
        std::vector<Index> sizes(blocks.front().features().sizes().begin(), blocks.front().features().sizes().end());
        Index rows = 0;
        for (const auto& block : blocks) rows += block.rows();
        sizes.insert(sizes.begin(), rows);
        Tensor<double> s{Shape(std::move(sizes))};
        Index row = 0;
        for (const auto& block : blocks) {
            block.expand(s.view().unfold(1).rows_from(row, block.rows()));
            row += block.rows();
        }
        return s;
    }
};

/// Trains, every third one dense, of different ranks, from a common population or unrelated.
Blocks make_blocks(const Shape& features, const std::vector<Index>& ranks, std::uint64_t seed) {
    Blocks result;
    const std::vector<Index> sizes(features.sizes().begin(), features.sizes().end());
    for (std::size_t k = 0; k < ranks.size(); ++k) {
        auto bonds = inner_ranks(sizes.size(), 1 + ranks[k] % 3);
        bonds.front() = ranks[k];
        FeatureBlock block(random_train<double>(sizes, bonds, seed + 31 * k));
        if (k % 3 == 2) {
            Matrix<double> rows(block.rows(), features.size());
            block.expand(rows.view());
            result.blocks.emplace_back(std::move(rows), features);
        } else {
            result.blocks.push_back(std::move(block));
        }
    }
    return result;
}

void expect_right_orthonormal(const Features& features) {
    for (Index n = 0; n < features.train.order(); ++n) {
        EXPECT_LT(orthonormality_residual(transpose(features.train.right_unfolding(n)).view()), 300);
    }
    EXPECT_TRUE(std::ranges::is_sorted(features.sigma, std::greater<>()));
}

TEST(MergeTest, BothRoutesAgreeWhenNothingIsCut) {
    for (const Shape& features :
         {Shape{7}, Shape{40}, Shape{5, 6}, Shape{3, 4, 5}, Shape{4, 1, 5}, Shape{2, 3, 2, 4}}) {
        for (const auto& ranks : {std::vector<Index>{3}, {1, 4, 2}, {1, 1, 1, 1}, {6, 2, 3, 5, 4}}) {
            const auto blocks = make_blocks(features, ranks, 5);
            const auto pointers = blocks.pointers();
            const auto s = blocks.stacked();
            const double norm2 = squared_norm(s.view().unfold(1));
            const auto dense = merge_dense(pointers, {});
            const auto trains = merge_trains(pointers, {});
            const auto either = merge_blocks(pointers, {});
            for (const auto* merged : {&dense, &trains, &either}) {
                EXPECT_LE(naive_refit_error2(s, merged->features), 1e-22 * norm2) << features.to_string();
                EXPECT_LE(merged->discarded2, 1e-22 * norm2);
                expect_right_orthonormal(merged->features);
            }
            const std::size_t common = std::min(dense.features.sigma.size(), trains.features.sigma.size());
            for (std::size_t i = 0; i < common; ++i) {
                EXPECT_NEAR(dense.features.sigma[i], trains.features.sigma[i], 1e-12 * std::sqrt(norm2));
            }
        }
    }
}

TEST(MergeTest, DirectionsAreTheSingularOnes) {
    const auto blocks = make_blocks({5, 6}, {3, 4, 2}, 9);
    const auto s = blocks.stacked();
    const auto svd = reference::svd(s.view().unfold(1));
    for (const auto route : {merge_dense, merge_trains}) {
        const auto merged = route(blocks.pointers(), {.max_rank = 4});
        ASSERT_EQ(merged.features.sigma.size(), 4u);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(merged.features.sigma[i], svd.sigma[i], 1e-11);
        double tail2 = 0;
        for (std::size_t i = 4; i < svd.sigma.size(); ++i) tail2 += svd.sigma[i] * svd.sigma[i];
        EXPECT_NEAR(merged.discarded2, tail2, 1e-10 * tail2);
        EXPECT_NEAR(naive_refit_error2(s, merged.features), tail2, 1e-10 * tail2);
    }
}

/// What is reported as discarded covers what the features miss, and stays within the budget.
TEST(MergeTest, DiscardedSquaresAreCertifiedOnBothRoutes) {
    Random random(17);
    int cut = 0;
    for (int trial = 0; trial < 600; ++trial) {
        std::vector<Index> sizes;
        for (int n = 0; n < 1 + trial / 2 % 4; ++n) sizes.push_back(1 + static_cast<Index>(random.below(6)));
        // A long last mode makes the decomposition start from the other end.
        if (trial % 3 == 0) sizes.back() += 14;
        std::vector<Index> ranks;
        for (std::uint64_t k = 0; k < 1 + random.below(6); ++k)
            ranks.push_back(1 + static_cast<Index>(random.below(6)));
        const Shape features{std::vector<Index>(sizes)};
        auto blocks = make_blocks(features, ranks, 100 + static_cast<std::uint64_t>(trial));
        if (trial % 2 == 0) {
            // No structure at all, so that every bond is cut.
            for (auto& block : blocks.blocks) {
                block = FeatureBlock(random_matrix<double>(block.rows(), features.size(), random.next()), features);
            }
        }
        const auto s = blocks.stacked();
        const double norm2 = squared_norm(s.view().unfold(1));
        const double eps = std::pow(10.0, -3 * random.uniform()) * 0.7;
        MergeCuts cuts;
        cuts.budget2 = eps * eps * norm2;
        cuts.bond_tail2 = cuts.budget2 / 2 / static_cast<double>(std::max<Index>(1, features.order() - 1));
        const bool capped = trial % 5 == 3;
        if (capped) cuts.max_rank = 2;
        for (const auto route : {merge_dense, merge_trains}) {
            const auto merged = route(blocks.pointers(), cuts);
            const double missed2 = naive_refit_error2(s, merged.features);
            EXPECT_LE(missed2, merged.discarded2 * (1 + 1e-9) + 1e-20 * norm2)
                << "trial " << trial << " " << features.to_string();
            if (!capped) {
                EXPECT_LE(merged.discarded2, cuts.budget2 * (1 + 1e-9) + 1e-20 * norm2) << "trial " << trial;
            }
            if (capped) {
                EXPECT_LE(merged.features.train.left_rank(), 2);
            }
            cut += merged.discarded2 > 0.01 * cuts.budget2 ? 1 : 0;
        }
    }
    EXPECT_GT(cut, 200);
}

TEST(MergeTest, OrderEightNeverFormsTheProduct) {
    // P = 30^7 = 2.2e10 numbers would be 175 GB.
    const std::vector<Index> sizes(7, 30);
    std::vector<FeatureBlock> blocks;
    for (std::uint64_t k = 0; k < 3; ++k) {
        auto bonds = inner_ranks(7, 3);
        bonds.front() = 2 + static_cast<Index>(k);
        blocks.emplace_back(random_train<double>(sizes, bonds, 50 + k, 0.2));
    }
    std::vector<const FeatureBlock*> pointers;
    for (const auto& block : blocks) pointers.push_back(&block);
    const auto merged = merge_blocks(pointers, {});
    EXPECT_EQ(merged.features.train.left_rank(), 2 + 3 + 4);
    expect_right_orthonormal(merged.features);
    double norm2 = 0;
    for (const auto& block : blocks) norm2 += std::pow(left_orthonormalise(block.train()).norm, 2);
    double kept2 = 0;
    for (const double s : merged.features.sigma) kept2 += s * s;
    EXPECT_NEAR(kept2, norm2, 1e-11 * norm2);
    EXPECT_LE(merged.discarded2, 1e-20 * norm2);
    const auto cut = merge_blocks(pointers, {.budget2 = 0.25 * norm2, .bond_tail2 = 0.01 * norm2, .max_rank = 5});
    EXPECT_LE(cut.features.train.left_rank(), 5);
    // The state that takes one more client later, and the same again with it.
    const auto state = compress_rows(pointers, {});
    EXPECT_FALSE(state.block.is_dense());
    const FeatureBlock* one[] = {&state.block};
    double again2 = 0;
    for (const double s : merge_blocks(one, {}).features.sigma) again2 += s * s;
    EXPECT_NEAR(again2, norm2, 1e-11 * norm2);
}

TEST(CompressRowsTest, KeepsTheRowSpaceOfWideAndTallStacks) {
    for (const Shape& features : {Shape{40}, Shape{3}, Shape{2, 3}, Shape{6, 7}, Shape{3, 2, 4}}) {
        const auto blocks = make_blocks(features, {4, 3, 5}, 21);
        const auto s = blocks.stacked();
        const double norm2 = squared_norm(s.view().unfold(1));
        for (const double eps : {0.0, 0.1, 0.6}) {
            const auto kept = compress_rows(blocks.pointers(), {.budget2 = eps * eps * norm2});
            EXPECT_LE(kept.discarded2, eps * eps * norm2 * (1 + 1e-12) + 1e-24 * norm2);
            const FeatureBlock* one[] = {&kept.block};
            const auto space = merge_dense(one, {});
            EXPECT_NEAR(naive_refit_error2(s, space.features), kept.discarded2, 1e-12 * norm2);
            double kept2 = 0;
            for (const double sigma : space.features.sigma) kept2 += sigma * sigma;
            EXPECT_NEAR(kept2 + kept.discarded2, norm2, 1e-12 * norm2);
        }
        EXPECT_LE(compress_rows(blocks.pointers(), {.max_rank = 2}).block.rows(), 2);
    }
}

TEST(CompressRowsTest, TrainsWhoseMergedRanksAreFullBecomeDense) {
    // 3 x 12 x 20: rank 3 at the last bond leaves 3 x 12 x 3 + 3 x 20 numbers of each, 20 of all of them.
    std::vector<FeatureBlock> blocks;
    for (std::uint64_t k = 0; k < 7; ++k) blocks.emplace_back(random_train<double>({12, 20}, {3, 3, 1}, 40 + k));
    std::vector<const FeatureBlock*> pointers;
    for (const auto& block : blocks) pointers.push_back(&block);
    double norm2 = 0;
    for (const auto& block : blocks) norm2 += std::pow(left_orthonormalise(block.train()).norm, 2);
    const auto all = compress_rows(pointers, {});
    EXPECT_EQ(all.block.rows(), 21);
    EXPECT_NEAR(all.block.squared_norm(), norm2, 1e-12 * norm2);
    const auto some = compress_rows(pointers, {.max_rank = 5});
    EXPECT_TRUE(some.block.is_dense());
    EXPECT_NEAR(some.block.squared_norm() + some.discarded2, norm2, 1e-12 * norm2);
    const auto best = merge_dense(pointers, {.max_rank = 5});
    const FeatureBlock* one[] = {&some.block};
    EXPECT_LT(row_space_distance(merge_dense(one, {}).features, best.features), 1e-10);
    EXPECT_NEAR(some.discarded2, best.discarded2, 1e-11 * norm2);
}

TEST(MergeTest, BlockTrainIsLeftOrthonormal) {
    const auto blocks = make_blocks({4, 5, 3}, {3, 2, 4}, 31);
    for (const auto& block : blocks.blocks) {
        const auto train = block_train(block);
        for (Index n = 0; n + 1 < train.order(); ++n) EXPECT_LT(orthonormality_residual(train.left_unfolding(n)), 200);
        Matrix<double> a(block.rows(), 60), b(block.rows(), 60);
        block.expand(a.view());
        FeatureBlock(train.clone()).expand(b.view());
        EXPECT_LT(naive_distance(a.view(), b.view()), 1e-11);
    }
}

TEST(MergeTest, ZeroRowsGiveOneDirection) {
    const FeatureBlock zero(Matrix<double>::zeros(3, 20), {4, 5});
    const std::vector<const FeatureBlock*> one = {&zero, &zero};
    for (const auto route : {merge_dense, merge_trains}) {
        const auto merged = route(one, {});
        EXPECT_EQ(merged.discarded2, 0);
        EXPECT_GE(merged.features.train.left_rank(), 1);
        EXPECT_EQ(merged.features.sigma.front(), 0);
        expect_right_orthonormal(merged.features);
    }
}

TEST(MergeTest, RefusesWhatDoesNotFit) {
    const std::span<const FeatureBlock* const> none;
    for (const auto route : {merge_blocks, merge_dense, merge_trains}) {
        EXPECT_EQ(message_of([&] { route(none, {}); }), "merge: no blocks; expected at least one");
    }
    EXPECT_EQ(message_of([&] { compress_rows(none, {}); }), "merge: no blocks; expected at least one");
    const FeatureBlock a(Matrix<double>::zeros(1, 6), {2, 3});
    const FeatureBlock b(Matrix<double>::zeros(1, 6), {3, 2});
    const FeatureBlock* both[] = {&a, &b};
    const std::string expected = "merge: feature modes 3x2; expected 2x3 as in the first block";
    for (const auto route : {merge_blocks, merge_dense, merge_trains}) {
        EXPECT_EQ(message_of([&] { route(std::span<const FeatureBlock* const>(both), {}); }), expected);
    }
    EXPECT_EQ(message_of([&] { compress_rows(std::span<const FeatureBlock* const>(both), {}); }), expected);
}

/// What merge.hpp says of both routes' flops, for blocks of equal ranks over two feature modes.
struct RouteCosts {
    double dense;
    double trains;
};

RouteCosts costs_of_trains(double clients, double rows, double first, double second, double bond) {
    const double rho = clients * rows;
    const double p = first * second;
    // S multiplied out, and decomposed.
    const double dense = rho * p * std::min(rho, p) + clients * 2 * rows * p * bond;
    // Mode 3: clients * bond rows of second numbers; mode 2: clients * rows rows of first * merged.
    const double stacked = clients * bond;
    const double last = 2 * clients * bond * second + stacked * second * std::min(stacked, second);
    const double merged = std::min(stacked, second);
    const double m = first * merged;
    const double firsts = 2 * clients * rows * first * bond * merged + rho * m * std::min(rho, m);
    return {dense, last + firsts};
}

/// The same for blocks that come dense: a train must be made of each first, with bases of the last mode.
RouteCosts costs_of_dense(double clients, double rows, double first, double second) {
    const double rho = clients * rows;
    const double p = first * second;
    const double stacked = clients * second;
    const double merged = std::min(stacked, second);
    const double m = first * merged;
    return {rho * p * std::min(rho, p), stacked * second * std::min(stacked, second) + rho * m * std::min(rho, m) +
                                            clients * 4 * rows * p * second};
}

TEST(MergeTest, TheCheaperRouteIsTaken) {
    int dense_taken = 0;
    int trains_taken = 0;
    for (const Index clients : {1, 2, 3, 5, 8}) {
        for (const Index rows : {2, 4, 9}) {
            for (const auto& [first, second] : {std::pair<Index, Index>{4, 6}, {6, 4}, {3, 20}, {20, 3}, {9, 9}}) {
                // A bond of 0 stands for dense blocks.
                for (const Index bond : {Index{0}, Index{1}, Index{2}, Index{3}, second}) {
                    if (bond > rows * first) continue;
                    const auto k_of = static_cast<double>(clients);
                    const auto r_of = static_cast<double>(rows);
                    const auto a_of = static_cast<double>(first);
                    const auto b_of = static_cast<double>(second);
                    const auto costs = bond == 0 ? costs_of_dense(k_of, r_of, a_of, b_of)
                                                 : costs_of_trains(k_of, r_of, a_of, b_of, static_cast<double>(bond));
                    std::vector<FeatureBlock> blocks;
                    for (Index k = 0; k < clients; ++k) {
                        const auto seed = static_cast<std::uint64_t>(k + 1);
                        if (bond == 0) {
                            blocks.emplace_back(random_matrix<double>(rows, first * second, seed),
                                                Shape{first, second});
                            continue;
                        }
                        const auto train = random_train<double>({first, second}, {rows, bond, 1}, seed);
                        blocks.emplace_back(left_orthonormalise(train).train);
                    }
                    std::vector<const FeatureBlock*> pointers;
                    for (const auto& block : blocks) pointers.push_back(&block);
                    const MergeCuts cuts{.max_rank = 2};
                    const auto taken = merge_blocks(pointers, cuts);
                    const auto dense = merge_dense(pointers, cuts);
                    const auto trains = merge_trains(pointers, cuts);
                    if (same_bits(dense.features, trains.features)) continue;
                    // Upper bounds of the ranks make the trains look dearer than they are: 1.3 for that.
                    const bool expect_dense = (bond == 0 ? 1 : 1.3) * costs.dense <= costs.trains;
                    EXPECT_TRUE(same_bits(taken.features, expect_dense ? dense.features : trains.features))
                        << clients << " clients of " << rows << " rows over " << first << "x" << second << ", bond "
                        << bond;
                    ++(expect_dense ? dense_taken : trains_taken);
                }
            }
        }
    }
    EXPECT_GT(dense_taken, 20);
    EXPECT_GT(trains_taken, 20);
}

}  // namespace
}  // namespace couplet
