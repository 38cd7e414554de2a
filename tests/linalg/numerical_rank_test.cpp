#include "couplet/linalg/numerical_rank.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "couplet/linalg/svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

TEST(NumericalRankTest, CountsWhatIsAboveTheNoise) {
    const std::vector<double> values{5, 2, 1e-3, 1e-9, 0, -1e-12};
    EXPECT_EQ(numerical_rank(values, 0), 4);
    EXPECT_EQ(numerical_rank(values, 1e-9), 3);
    EXPECT_EQ(numerical_rank(values, 0.5), 2);
    EXPECT_EQ(numerical_rank(values, 10), 1);
    EXPECT_EQ(numerical_rank(std::vector<double>{0, 0}, 0), 1);
    EXPECT_EQ(numerical_rank({}, 0), 1);
    EXPECT_EQ(numerical_rank(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}, 0), 1);
}

TEST(NumericalRankTest, RoundingOfAProductIsBelowItsNoiseWhateverTheUnit) {
    for (const double unit : {1.0, 3.0, 7.0, 1e-30, 1e30}) {
        for (const Index cols : {5, 40, 300}) {
            const Index rank = 3;
            auto left = support::random_matrix<double>(60, rank, 1);
            for (double& value : std::span(left.data(), static_cast<std::size_t>(left.size()))) value *= unit;
            const auto a = product<double>(left.view(), support::random_matrix<double>(rank, cols, 2).view());
            const auto svd = truncated_svd<double>(a.view(), {.max_rank = 5, .method = SvdMethod::qr});
            double norm2 = 0;
            for (const double sigma : svd.sigma) norm2 += sigma * sigma;
            EXPECT_EQ(numerical_rank(svd.sigma, rounding_noise(60, cols, std::sqrt(norm2))), rank) << unit;
        }
    }
}

TEST(NumericalRankTest, IndependentErrorsHaveAboutTheNoiseThatIsStated) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{200, 200}, {30, 400}, {400, 30}}) {
        const auto errors = support::random_matrix<double>(rows, cols, 3);
        const double norm = std::sqrt(squared_norm<double>(errors.view()));
        const double largest = truncated_svd<double>(errors.view(), {.max_rank = 1}).sigma.front();
        EXPECT_NEAR(largest, spread_noise(rows, cols, norm), 0.1 * largest);
        const double deviation = norm / std::sqrt(static_cast<double>(rows * cols));
        EXPECT_DOUBLE_EQ(white_noise(rows, cols, deviation), spread_noise(rows, cols, norm));
    }
    EXPECT_DOUBLE_EQ(step_deviation(6, 12), 6);
    EXPECT_DOUBLE_EQ(gram_noise(4), 4e-12);
    EXPECT_DOUBLE_EQ(gram_noise(-1), 0);
}

}  // namespace
}  // namespace couplet
