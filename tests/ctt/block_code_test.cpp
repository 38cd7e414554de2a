#include "couplet/ctt/block_code.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "code_rows.hpp"
#include "couplet/coding/integers.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/merge.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

/// diag(weights) V^T with weights 1, 1/2, 1/3, ...
Matrix<double> decaying_rows(Index rows, Index cols, std::uint64_t seed) {
    auto m = random_matrix<double>(rows, cols, seed);
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) m(i, j) /= static_cast<double>(1 + i);
    }
    return m;
}

CodedRows coded(const Matrix<double>& rows, const Shape& features, double eps) {
    const double limit2 = eps * eps * squared_norm<double>(rows.view());
    auto result = code_rows(rows, features, {limit2, limit2});
    EXPECT_TRUE(result.has_value());
    return std::move(*result);
}

void expect_orthonormal(const Features& features) {
    const auto w = rows_of(features.train);
    const auto gram = naive_product(w.view(), w.view(), Op::none, Op::transpose);
    EXPECT_LE(naive_distance(gram.view(), Matrix<double>::identity(w.rows()).view()), 1e-12);
    for (Index n = 0; n < features.train.order(); ++n) {
        const auto m = features.train.right_unfolding(n);
        const auto rows = naive_product(m, m, Op::none, Op::transpose);
        EXPECT_LE(naive_distance(rows.view(), Matrix<double>::identity(m.rows).view()), 1e-12) << n;
    }
    EXPECT_TRUE(std::ranges::is_sorted(features.sigma, std::greater<>()));
    EXPECT_EQ(static_cast<Index>(features.sigma.size()), features.train.left_rank());
}

/// A code of a train whatever its size.
CodedRows coded_train(const std::vector<Index>& sizes, const std::vector<Index>& ranks, double eps) {
    const auto train = right_orthonormalise(random_train<double>(sizes, ranks, 3)).train;
    const double norm2 = squared_norm<double>(train.right_unfolding(0));
    return *code_train(train, {eps * eps * norm2, eps * eps * norm2});
}

TEST(BlockCode, FeaturesAreOrthonormalAndSpanTheRows) {
    for (const Shape& features : {Shape{40}, Shape{6, 7}, Shape{3, 4, 5}, Shape{2, 3, 2, 3}, Shape{1, 9}}) {
        for (const Index rows : {1, 3, 5}) {
            const auto m = decaying_rows(rows, features.size(), 2);
            const auto code = coded(m, features, 0.001).code;
            const Features decoded = decode_features(code);
            expect_orthonormal(decoded);
            EXPECT_EQ(decoded.code, code);
            EXPECT_EQ(decoded.train.shape(), features);
            const FeatureBlock block = decode_block(code);
            const FeatureBlock* blocks[] = {&block};
            EXPECT_LE(row_space_distance(decoded, merge_dense(blocks, {}).features), 1e-9);
        }
    }
}

TEST(BlockCode, TrainsDecodeToOrthonormalFeatures) {
    for (const auto& [sizes, ranks] :
         {std::pair<std::vector<Index>, std::vector<Index>>{{6, 7}, {3, 4, 1}}, {{5, 4, 6}, {4, 3, 5, 1}}}) {
        const auto code = coded_train(sizes, ranks, 0.001).code;
        ASSERT_FALSE(code->ranks.empty());
        expect_orthonormal(decode_features(code));
        const FeatureBlock block = decode_block(code);
        const auto cores = TensorTrain<double>(decode_cores(*code));
        EXPECT_LE(naive_distance(rows_of(block.train()).view(), rows_of(cores).view()), 1e-10);
        EXPECT_EQ(block.numbers(), code->numbers());
    }
}

TEST(BlockCode, WeightsAreTheNormsOfTheRows) {
    const auto m = decaying_rows(4, 30, 6);
    const Features features = decode_features(coded(m, {5, 6}, 1e-4).code);
    std::vector<double> norms;
    for (Index i = 0; i < 4; ++i) norms.push_back(std::sqrt(squared_norm<double>(m.view().rows_from(i, 1))));
    std::ranges::sort(norms, std::greater<>());
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(features.sigma[i], norms[i], 1e-3 * norms[0]);
}

TEST(BlockCode, RowsThatOthersSpanAreLeftOut) {
    auto m = decaying_rows(3, 12, 7);
    for (Index j = 0; j < 12; ++j) m(1, j) = m(0, j);
    const auto code = coded(m, {12}, 1e-3).code;
    EXPECT_EQ(code->rows, 3);
    expect_orthonormal(decode_features(code));
    EXPECT_EQ(decode_features(code).train.left_rank(), 2);
}

TEST(BlockCode, FloatsAreThirtyTwoBits) {
    const FeatureBlock block(decaying_rows(3, 20, 8), {4, 5});
    const auto result = float_block(block);
    EXPECT_EQ(result.code->bytes.size(), 4U * 60);
    EXPECT_LT(std::sqrt(result.error2 / block.squared_norm()), 1e-7);
    EXPECT_GT(result.error2, 0);
    expect_orthonormal(decode_features(result.code));
    const FeatureBlock train(left_orthonormalise(random_train<double>({6, 7}, {3, 4, 1}, 9)).train);
    EXPECT_LT(std::sqrt(float_block(train).error2 / train.squared_norm()), 1e-6);
    EXPECT_EQ(decode_block(float_block(train).code).train().ranks(), train.train().ranks());
}

TEST(BlockCode, RefusesWhatCannotBe) {
    const BlockCode good = *coded(decaying_rows(3, 20, 8), {4, 5}, 0.01).code;
    EXPECT_NO_THROW(check_code(good));
    const auto refused = [&](auto change) {
        BlockCode code = good;
        change(code);
        EXPECT_THROW(decode_cores(code), InputError);
        EXPECT_THROW(decode_features(std::make_shared<const BlockCode>(code)), InputError);
    };
    refused([](BlockCode& c) { c.rows = 0; });
    refused([](BlockCode& c) { c.rows = 2; });
    refused([](BlockCode& c) { c.features = Shape{}; });
    refused([](BlockCode& c) { c.features = Shape{4, 0}; });
    for (const double step : {0.0, -1.0, std::nan(""), 1e200, std::numeric_limits<double>::infinity()})
        refused([&](BlockCode& c) { c.step = step; });
    for (const std::vector<Index>& ranks : std::vector<std::vector<Index>>{
             {3, 1}, {3, 2, 2}, {2, 2, 1}, {3, 0, 1}, {3, -1, 1}, {3, INT64_MAX, 1}, {3, 2, 2, 1}}) {
        refused([&](BlockCode& c) { c.ranks = ranks; });
    }
    refused([](BlockCode& c) { c.bytes.pop_back(); });
    refused([](BlockCode& c) { c.bytes.push_back(std::byte{0}); });
    refused([](BlockCode& c) { c.kind = BlockCode::Kind::floats; });
    refused([](BlockCode& c) {
        c.kind = BlockCode::Kind::floats;
        c.bytes.assign(240, std::byte{0xff});  // NaN
    });
}

TEST(BlockCode, FeaturesNeedADirection) {
    BlockCode zero{BlockCode::Kind::floats, 2, {3}, {}, 0, std::vector<std::byte>(24)};
    EXPECT_THROW(decode_features(std::make_shared<const BlockCode>(zero)), InputError);
    EXPECT_EQ(decode_block(std::make_shared<const BlockCode>(zero)).squared_norm(), 0);
}

/// Steps and integers that are legal one by one and overflow when cores are multiplied.
TEST(BlockCode, ProductsThatOverflowAreRefused) {
    BlockCode code{BlockCode::Kind::integers, 1, Shape{1, 1, 1}, {1, 1, 1, 1}, 1e129, {}};
    const std::vector<std::int32_t> first{largest_integer};
    const std::vector<IntegerMatrix<const std::int32_t>> cores(3, {{first.data(), 1, 1}, 0});
    code.bytes = encode_integers(cores);
    EXPECT_NO_THROW(decode_cores(code));
    code.kind = BlockCode::Kind::floats;
    const float large = 1e38F;
    code.features = Shape(std::vector<Index>(12, 1));
    code.ranks.assign(13, 1);
    code.bytes.resize(12 * sizeof large);
    for (std::size_t n = 0; n < 12; ++n) std::memcpy(code.bytes.data() + n * sizeof large, &large, sizeof large);
    EXPECT_THROW(decode_features(std::make_shared<const BlockCode>(code)), InputError);
}

}  // namespace
}  // namespace couplet
