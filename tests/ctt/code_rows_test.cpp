#include "code_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/tt/arithmetic.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

/// S V^T of a population's client: orthogonal rows by falling norm.
Matrix<double> singular_rows(const Shape& shape, Index rank, double decay, double noise) {
    const auto x = population_client(shape, rank, decay, noise, 3, 1);
    const auto svd = truncated_svd<double>(x.view().unfold(1), {});
    auto rows = transpose(svd.v.view());
    for (Index i = 0; i < rows.rows(); ++i) {
        for (Index j = 0; j < rows.cols(); ++j) rows(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    return rows;
}

/// What the code loses, by its definition.
void expect_measured(const Matrix<double>& rows, const CodedRows& coded) {
    const auto cores = decode_cores(*coded.code);
    ASSERT_EQ(coded.cores.size(), cores.size());
    for (std::size_t n = 0; n < cores.size(); ++n) {
        ASSERT_EQ(coded.cores[n].shape(), cores[n].shape());
        ASSERT_TRUE(std::ranges::equal(coded.cores[n].elements(), cores[n].elements())) << "core " << n;
    }
    const FeatureBlock block = decode_block(coded.code);
    ASSERT_EQ(block.rows(), static_cast<Index>(coded.kept.size()));
    Matrix<double> decoded(block.rows(), rows.cols());
    block.expand(decoded.view());
    double dropped2 = squared_norm<double>(rows.view());
    double error2 = 0;
    for (std::size_t k = 0; k < coded.kept.size(); ++k) {
        const auto row = rows.view().rows_from(coded.kept[k], 1);
        dropped2 -= squared_norm<double>(row);
        const double distance = naive_distance(row, std::as_const(decoded).view().rows_from(static_cast<Index>(k), 1));
        error2 += distance * distance;
    }
    const double norm2 = squared_norm<double>(rows.view());
    EXPECT_NEAR(coded.dropped2, dropped2, 1e-12 * norm2);
    EXPECT_NEAR(coded.error2, error2, 1e-12 * norm2);
}

TEST(CodeRows, StayWithinTheLimitsAndUseThem) {
    for (const Shape& shape : {Shape{30, 60}, Shape{30, 9, 8}, Shape{20, 5, 6, 7}, Shape{1, 40}, Shape{30, 3, 2}}) {
        const auto rows = singular_rows(shape, 6, 0.6, 0.01);
        const double norm2 = squared_norm<double>(rows.view());
        for (const double eps : {0.3, 0.05, 0.001, 1e-5}) {
            const double limit2 = eps * eps * norm2;
            const auto coded = code_rows(rows, feature_modes(shape), {limit2, limit2});
            ASSERT_TRUE(coded) << shape.to_string() << " " << eps;
            EXPECT_LE(coded->dropped2 + coded->error2, limit2);
            EXPECT_GE(coded->dropped2 + coded->error2, 0.5 * limit2);
            expect_measured(rows, *coded);
        }
    }
}

TEST(CodeRows, BothLimitsHold) {
    const auto rows = singular_rows({30, 9, 8}, 6, 0.5, 0.02);
    const double norm2 = squared_norm<double>(rows.view());
    const auto coded = code_rows(rows, {9, 8}, {1e-3 * norm2, 1e-5 * norm2});
    ASSERT_TRUE(coded);
    EXPECT_LE(coded->error2, 1e-5 * norm2);
    EXPECT_LE(coded->dropped2 + coded->error2, 1e-3 * norm2);
}

TEST(CodeRows, RowsBelowTheStepVanish) {
    const auto rows = singular_rows({40, 10, 9}, 4, 0.5, 0.001);
    const double norm2 = squared_norm<double>(rows.view());
    const auto coded = code_rows(rows, {10, 9}, {4e-4 * norm2, 4e-4 * norm2});
    ASSERT_TRUE(coded);
    EXPECT_LE(coded->code->rows, 6);
    EXPECT_GE(coded->code->rows, 4);
}

TEST(CodeRows, TakeTheTrainWhereItIsSmaller) {
    // Feature ranks of 4 in 20 x 20: the train has far fewer numbers.
    const auto low = singular_rows({12, 20, 20}, 4, 0.8, 0);
    const auto high = random_matrix<double>(12, 400, 5);
    const double limit2 = 1e-4;
    const auto train = code_rows(
        low, {20, 20}, {limit2 * squared_norm<double>(low.view()), limit2 * squared_norm<double>(low.view())});
    const auto dense = code_rows(
        high, {20, 20}, {limit2 * squared_norm<double>(high.view()), limit2 * squared_norm<double>(high.view())});
    ASSERT_TRUE(train && dense);
    EXPECT_FALSE(train->code->ranks.empty());
    EXPECT_TRUE(dense->code->ranks.empty());
}

TEST(CodeRows, CodedTrainsMatchTheirRows) {
    const auto train = right_orthonormalise(random_train<double>({6, 5, 7}, {4, 5, 3, 1}, 6)).train;
    const auto rows = rows_of(train);
    const double norm2 = squared_norm<double>(rows.view());
    for (const double eps : {0.2, 0.01, 1e-4}) {
        const auto coded = code_train(train, {eps * eps * norm2, eps * eps * norm2});
        ASSERT_TRUE(coded);
        EXPECT_LE(coded->dropped2 + coded->error2, eps * eps * norm2);
        expect_measured(rows, *coded);
    }
}

TEST(CodeRows, NothingForZerosOrTooMuchPrecision) {
    const auto rows = singular_rows({10, 30}, 3, 0.5, 0.1);
    const double norm2 = squared_norm<double>(rows.view());
    EXPECT_FALSE(code_rows(rows, {30}, {0, 0}));
    EXPECT_FALSE(code_rows(rows, {30}, {1e-22 * norm2, 1e-22 * norm2}));
    EXPECT_FALSE(code_rows(Matrix<double>::zeros(3, 30), {30}, {1, 1}));
    // A limit that allows everything still leaves a direction.
    const auto coarse = code_rows(rows, {30}, {norm2, norm2});
    ASSERT_TRUE(coarse);
    EXPECT_GE(decode_features(coarse->code).train.left_rank(), 1);
}

TEST(CodeRows, FitIntoTheirBytes) {
    for (const Shape& shape : {Shape{30, 60}, Shape{30, 9, 8}, Shape{20, 5, 6, 7}, Shape{1, 40}}) {
        const auto rows = singular_rows(shape, 6, 0.6, 0.01);
        double before = 1e300;
        for (const Index bytes : {40, 100, 300, 1000, 4000}) {
            const auto coded = code_rows_within(rows, feature_modes(shape), bytes);
            ASSERT_TRUE(coded) << shape.to_string() << " " << bytes;
            EXPECT_LE(static_cast<Index>(coded->code->bytes.size()), bytes);
            expect_measured(rows, *coded);
            // More bytes, less error.
            EXPECT_LE(coded->dropped2 + coded->error2, before * (1 + 1e-9));
            before = coded->dropped2 + coded->error2;
        }
    }
    const auto rows = singular_rows({30, 9, 8}, 6, 0.6, 0.01);
    const auto coded = code_rows_within(rows, {9, 8}, 600);
    EXPECT_GE(coded->code->bytes.size(), 500U);
    EXPECT_FALSE(code_rows_within(rows, {9, 8}, 3));
    EXPECT_FALSE(code_rows_within(Matrix<double>::zeros(3, 72), {9, 8}, 600));
    const auto train = right_orthonormalise(random_train<double>({6, 5, 7}, {4, 5, 3, 1}, 6)).train;
    const auto few = code_train_within(train, 150);
    ASSERT_TRUE(few);
    EXPECT_LE(few->code->bytes.size(), 150U);
    expect_measured(rows_of(train), *few);
}

TEST(CodeRows, ExtremeScalesAreNoDifferent) {
    for (const double scale : {1e-100, 1e100}) {
        auto rows = singular_rows({10, 6, 5}, 3, 0.5, 0.1);
        for (Index i = 0; i < rows.size(); ++i) rows.data()[i] *= scale;
        const double limit2 = 1e-4 * squared_norm<double>(rows.view());
        const auto coded = code_rows(rows, {6, 5}, {limit2, limit2});
        ASSERT_TRUE(coded);
        EXPECT_LE(coded->error2, limit2);
        EXPECT_TRUE(std::isfinite(decode_features(coded->code).sigma.front()));
    }
}

TEST(CodeRows, ZerosAndAnIdleDirectionTakeAFewBytes) {
    for (const Shape& features : {Shape{1}, Shape{7}, Shape{110, 140}, Shape{20, 20, 20}}) {
        const auto zero = zero_code(features);
        EXPECT_LE(zero->bytes.size(), 40U) << features.to_string();
        EXPECT_EQ(decode_block(zero).squared_norm(), 0);
        EXPECT_EQ(decode_block(zero).rows(), 1);
        EXPECT_EQ(decode_block(zero).features(), features);
        const auto idle = idle_code(features);
        EXPECT_LE(idle->bytes.size(), 40U) << features.to_string();
        const Features direction = decode_features(idle);
        EXPECT_EQ(direction.train.left_rank(), 1);
        EXPECT_EQ(direction.train.shape(), features);
        EXPECT_NEAR(norm(direction.train), 1, 1e-12);
        EXPECT_LT(direction.sigma.front(), 1e-100);
    }
}

TEST(CodeRows, FloatsRefuseWhatTheyCannotHold) {
    const auto scaled = [](double by) {
        auto rows = singular_rows({10, 30}, 3, 0.5, 0.1);
        for (Index i = 0; i < rows.size(); ++i) rows.data()[i] *= by;
        return FeatureBlock(std::move(rows), {30});
    };
    EXPECT_LT(float_block(scaled(1e-25)).error2, 1e-13 * 1e-50 * 1e6);
    EXPECT_NO_THROW(float_block(scaled(1e30)));
    EXPECT_NO_THROW(float_block(FeatureBlock(Matrix<double>::zeros(2, 30), {30})));
    for (const double by : {1e-60, 1e-40, 1e40, 1e70}) {
        EXPECT_NE(message_of([&] { float_block(scaled(by)); }).find("`precision`"), std::string::npos) << by;
    }
}

}  // namespace
}  // namespace couplet
