#include "couplet/audit/short_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

IntegerRows unit_vectors(std::size_t n) {
    IntegerRows rows(n, std::vector<std::int64_t>(n, 0));
    for (std::size_t i = 0; i < n; ++i) rows[i][i] = 1;
    return rows;
}

Matrix<double> random_values(Index n, Index d, std::uint64_t seed) {
    Random random(seed);
    Matrix<double> values(n, d);
    for (Index i = 0; i < values.size(); ++i) values.data()[i] = random.normal();
    return values;
}

/// What is asked: one of the vectors, or its negative.
bool has(const IntegerRows& rows, const std::vector<std::int64_t>& wanted) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
        const auto negative = [](std::int64_t x) { return -x; };
        std::vector<std::int64_t> other(row.size());
        std::transform(row.begin(), row.end(), other.begin(), negative);
        return row == wanted || other == wanted;
    });
}

/// A subset sum: which of n numbers of d real entries make up a vector.
TEST(ShortVectors, SolveSubsetSums) {
    for (const Index n : {1, 2, 7, 30, 60}) {
        auto values = random_values(n + 1, 6, static_cast<std::uint64_t>(n));
        Random random(99, static_cast<std::uint64_t>(n));
        std::vector<std::int64_t> subset(static_cast<std::size_t>(n) + 1, 1);
        for (Index j = 0; j < 6; ++j) values(n, j) = 0;
        for (Index i = 0; i < n; ++i) {
            subset[static_cast<std::size_t>(i)] = i == 0 || random.uniform() < 0.3;
            for (Index j = 0; j < 6; ++j) {
                values(n, j) -= static_cast<double>(subset[static_cast<std::size_t>(i)]) * values(i, j);
            }
        }
        std::int64_t work = std::int64_t{1} << 32;
        const auto found = short_vectors(unit_vectors(static_cast<std::size_t>(n) + 1), values.view(),
                                         {.tolerance = 1e-11, .longest = 8}, work);
        if (n <= 30) {
            EXPECT_EQ(found.size(), 1U) << n << ": nothing else is as short";
        }
        EXPECT_TRUE(has(found, subset)) << n;
        EXPECT_GT(work, 0);
    }
}

TEST(ShortVectors, FindNothingWhereThereIsNothing) {
    const auto values = random_values(40, 6, 5);
    std::int64_t work = std::int64_t{1} << 32;
    EXPECT_TRUE(short_vectors(unit_vectors(40), values.view(), {.tolerance = 1e-11, .longest = 8}, work).empty());
    EXPECT_TRUE(short_vectors({}, MatrixView<const double>(nullptr, 0, 3), {.tolerance = 1e-9}, work).empty());
}

/// A basis of integers alone: the lattice of multiples of (3, 1) and (1, 2), in which (2, -1) is shorter than (3, 1).
TEST(ShortVectors, ReduceWhatIsGiven) {
    Matrix<double> values = Matrix<double>::zeros(2, 1);
    std::int64_t work = 1 << 20;
    const auto found = short_vectors({{3, 1}, {1, 2}}, values.view(), {.tolerance = 1, .longest = 100}, work);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(has(found, {2, -1}));
    EXPECT_TRUE(has(found, {1, 2}));
}

TEST(ShortVectors, EndWhenTheWorkIsDone) {
    const auto values = random_values(60, 6, 5);
    std::int64_t work = 10000;
    EXPECT_TRUE(short_vectors(unit_vectors(60), values.view(), {.tolerance = 1e-11, .longest = 8}, work).empty());
    EXPECT_LT(work, 0);
    EXPECT_GT(work, -1000000) << "one step more, no more";
}

TEST(ShortVectors, RefuseWhatDoesNotFit) {
    const auto values = random_values(3, 2, 1);
    std::int64_t work = 1000;
    EXPECT_THROW(short_vectors(unit_vectors(3), values.view(), {.tolerance = 0}, work), InputError);
    EXPECT_THROW(short_vectors(unit_vectors(2), values.view(), {.tolerance = 1}, work), InputError);
}

}  // namespace
}  // namespace couplet
