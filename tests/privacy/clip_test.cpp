#include "couplet/privacy/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

Tensor<double> people() {
    auto x = Tensor<double>::zeros({4, 2, 2});
    x.data()[0] = 3;
    x.data()[3] = 4;   // norm 5
    x.data()[5] = -1;  // norm 1
    x.data()[8] = 6;
    x.data()[9] = 8;  // norm 10
    return x;
}

TEST(ClipRows, ShortensLongRecordsOnly) {
    const auto x = people();
    const auto clipped = clip_rows(x.view(), 5);
    EXPECT_EQ(clipped.rows, 1);
    EXPECT_DOUBLE_EQ(clipped.lost2, 25);
    EXPECT_EQ(row_norms(clipped.tensor.view()), (std::vector<double>{5, 1, 5, 0}));
    EXPECT_DOUBLE_EQ(clipped.tensor.data()[8], 3);
    EXPECT_DOUBLE_EQ(clipped.tensor.data()[9], 4);
    EXPECT_DOUBLE_EQ(clipped.tensor.data()[0], 3);
}

TEST(ClipRows, ClipsWhatCannotBeSquared) {
    auto x = people();
    x.data()[0] = 3e200;
    x.data()[3] = 4e200;
    x.data()[5] = 1e-200;
    EXPECT_NEAR(row_norms(x.view())[0], 5e200, 1e186);
    EXPECT_NEAR(row_norms(x.view())[1], 1e-200, 1e-214);
    const auto clipped = clip_rows(x.view(), 5);
    EXPECT_DOUBLE_EQ(clipped.tensor.data()[0], 3);
    EXPECT_EQ(clipped.tensor.data()[5], 1e-200);
}

TEST(ClipRows, RefusesNormsThatAreNone) {
    const auto x = people();
    for (const double norm : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        EXPECT_THROW(clip_rows(x.view(), norm), InputError) << norm;
    }
}

TEST(Quantile, IsTheSmallestValueThatEnoughDoNotExceed) {
    EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2);
    EXPECT_EQ(quantile({4, 1, 3, 2}, 0.51), 3);
    EXPECT_EQ(quantile({4, 1, 3, 2}, 1), 4);
    EXPECT_EQ(quantile({4, 1, 3, 2}, 0), 1);
    EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(LargestLeverage, IsOneWhereADirectionIsOnePatient) {
    const auto x = people();
    EXPECT_NEAR(largest_leverage(x.view(), 3), 1, 1e-12);
    auto same = Tensor<double>::zeros({4, 2, 2});
    for (Index i = 0; i < same.size(); ++i) same.data()[i] = 1;
    EXPECT_NEAR(largest_leverage(same.view(), 1), 0.25, 1e-12);
    EXPECT_EQ(largest_leverage(Tensor<double>::zeros({2, 2, 2}).view(), 1), 0);
}

}  // namespace
}  // namespace couplet
