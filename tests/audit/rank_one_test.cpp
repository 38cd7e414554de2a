#include "couplet/audit/rank_one.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/audit/recovery.hpp"
#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

Matrix<double> outer_people(Index people, Index m, Index n, std::uint64_t seed) {
    Random random(seed);
    Matrix<double> x(people, m * n);
    std::vector<double> u(static_cast<std::size_t>(m));
    std::vector<double> v(static_cast<std::size_t>(n));
    for (Index k = 0; k < people; ++k) {
        for (double& value : u) value = random.normal();
        for (double& value : v) value = random.normal();
        for (Index i = 0; i < m * n; ++i)
            x(k, i) = u[static_cast<std::size_t>(i / n)] * v[static_cast<std::size_t>(i % n)];
    }
    return x;
}

Matrix<double> mixed(const Matrix<double>& x, std::uint64_t seed) {
    Random random(seed, 2);
    Matrix<double> turn(x.rows(), x.rows());
    for (Index i = 0; i < turn.size(); ++i) turn.data()[i] = random.normal();
    return product<double>(turn.view(), x.view());
}

TEST(RankOneRows, FindOuterProductsInTheirRowSpace) {
    const auto people = outer_people(8, 7, 11, 1);
    const auto found = rank_one_rows(mixed(people, 2).view(), {7, 11});
    EXPECT_EQ(count_recovered(found.view(), people.view()), 8);
    for (Index i = 0; i < found.rows(); ++i) {
        EXPECT_NEAR(squared_norm<double>(found.view().rows_from(i, 1)), 1, 1e-9);
    }
}

TEST(RankOneRows, TakeMoreModesAsOneMatrix) {
    const auto people = outer_people(5, 6, 12, 3);
    EXPECT_EQ(count_recovered(rank_one_rows(mixed(people, 4).view(), {6, 3, 4}).view(), people.view()), 5);
}

TEST(RankOneRows, AreNoneForOneFeatureMode) {
    const auto people = outer_people(3, 5, 4, 5);
    EXPECT_EQ(rank_one_rows(people.view(), {20}).rows(), 0);
    EXPECT_EQ(rank_one_rows(Matrix<double>(0, 20).view(), {5, 4}).rows(), 0);
}

TEST(RankOneRows, DependOnTheSeedAlone) {
    const auto rows = mixed(outer_people(6, 5, 9, 7), 8);
    const auto a = rank_one_rows(rows.view(), {5, 9}, {.seed = 3});
    const auto b = rank_one_rows(rows.view(), {5, 9}, {.seed = 3});
    ASSERT_EQ(a.rows(), b.rows());
    for (Index i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
}

}  // namespace
}  // namespace couplet
