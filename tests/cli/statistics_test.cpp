#include "statistics.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/threads.hpp"

namespace couplet::testing {
namespace {

TEST(Statistics, OfFiniteElements) {
    Tensor<double> x = Tensor<double>::zeros({5});
    x.data()[0] = 3;
    x.data()[1] = -4;
    x.data()[2] = NAN;
    x.data()[3] = INFINITY;
    const cli::Statistics s = cli::statistics<double>(x.view());
    EXPECT_EQ(s.finite, 3);
    EXPECT_EQ(s.nan, 1);
    EXPECT_EQ(s.inf, 1);
    EXPECT_EQ(s.nonzeros, 2);
    EXPECT_EQ(s.min, -4);
    EXPECT_EQ(s.max, 3);
    EXPECT_DOUBLE_EQ(s.mean, -1.0 / 3);
    EXPECT_DOUBLE_EQ(s.norm, 5);
}

TEST(Statistics, SquaresThatOverflowOrVanish) {
    for (const double scale : {1e200, 1e-200, 1e-310, 1e307}) {
        Tensor<double> x({2});
        x.data()[0] = 3 * scale;
        x.data()[1] = 4 * scale;
        const cli::Statistics s = cli::statistics<double>(x.view());
        EXPECT_NEAR(s.norm / scale, 5, 1e-9) << scale;
        EXPECT_NEAR(s.mean / scale, 3.5, 1e-9) << scale;
    }
    EXPECT_EQ(cli::statistics<double>(Tensor<double>::zeros({4}).view()).norm, 0);
}

TEST(Statistics, NothingFinite) {
    Tensor<float> x({2});
    x.data()[0] = x.data()[1] = NAN;
    const cli::Statistics s = cli::statistics<float>(x.view());
    EXPECT_EQ(s.finite, 0);
    EXPECT_EQ(s.norm, 0);
    EXPECT_EQ(s.min, 0);
}

TEST(Statistics, DoNotDependOnThreads) {
    const Tensor<double> x = smooth<double>({100, 100, 101});
    const int before = thread_count();
    set_thread_count(1);
    const cli::Statistics one = cli::statistics<double>(x.view());
    set_thread_count(3);
    const cli::Statistics three = cli::statistics<double>(x.view());
    set_thread_count(before);
    EXPECT_EQ(one.norm, three.norm);
    EXPECT_EQ(one.mean, three.mean);
}

}  // namespace
}  // namespace couplet::testing
