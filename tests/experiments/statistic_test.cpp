#include "couplet/experiments/statistic.hpp"

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(StatisticTest, MeanAndSampleDeviation) {
    const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
    const Statistic s = summarise(values);
    EXPECT_DOUBLE_EQ(s.mean, 5);
    EXPECT_DOUBLE_EQ(s.sd, std::sqrt(32.0 / 7));
    EXPECT_EQ(s.count, 8);
}

TEST(StatisticTest, OneValueHasNoSpreadAndNoneIsRefused) {
    EXPECT_EQ(summarise(std::vector<double>{3}), (Statistic{3, 0, 1}));
    EXPECT_THROW(summarise({}), InputError);
}

}  // namespace
}  // namespace couplet
