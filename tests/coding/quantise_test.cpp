#include "couplet/coding/quantise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "couplet/coding/integers.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

std::vector<std::int32_t> quantised(const std::vector<double>& d, double step) {
    std::vector<std::int32_t> q(d.size());
    quantise(d, step, q);
    return q;
}

TEST(Quantise, HasADeadZone) {
    const std::vector<double> d = {0, 0.59, 0.61, -0.59, -0.61, 1.59, 1.61, -2, 5};
    EXPECT_EQ(quantised(d, 1), (std::vector<std::int32_t>{0, 0, 1, 0, -1, 1, 2, -2, 5}));
}

TEST(Quantise, IsWithinSixTenthsOfAStep) {
    Random random(1);
    std::vector<double> d(1000);
    for (double& value : d) value = 100 * random.normal();
    for (const double step : {1e-5, 0.37, 3.0, 1e4}) {
        const auto q = quantised(d, step);
        std::vector<double> back(d.size());
        dequantise(q, step, back);
        for (std::size_t i = 0; i < d.size(); ++i) {
            ASSERT_LE(std::abs(d[i] - back[i]), 0.6 * step * (1 + 1e-9));
            ASSERT_EQ(back[i], static_cast<double>(q[i]) * step);
        }
    }
}

TEST(Quantise, MeasuresWhatItLoses) {
    Random random(2);
    for (const std::size_t size : {0, 1, 3, 4, 5, 8, 1001}) {
        std::vector<double> d(size);
        for (double& value : d) value = 10 * random.normal();
        for (const double step : {1e-3, 1.0, 1e3}) {
            std::vector<std::int32_t> q(size);
            const Quantised measured = quantise_measured(d, step, q);
            EXPECT_EQ(q, quantised(d, step));
            double error2 = 0;
            bool zero = true;
            for (std::size_t i = 0; i < size; ++i) {
                error2 += std::pow(d[i] - q[i] * step, 2);
                zero = zero && q[i] == 0;
            }
            EXPECT_NEAR(measured.error2, error2, 1e-12 * error2);
            EXPECT_EQ(measured.zero, zero);
        }
    }
}

TEST(Quantise, RefusesWhatDoesNotFit) {
    EXPECT_THROW(quantised({1e10}, 1), InputError);
    EXPECT_THROW(quantised({std::nan("")}, 1), InputError);
    EXPECT_THROW(quantised({std::numeric_limits<double>::infinity()}, 1), InputError);
    for (const double step : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        EXPECT_THROW(quantised({1}, step), InputError);
        std::vector<double> d(1);
        EXPECT_THROW(dequantise(std::vector<std::int32_t>{1}, step, d), InputError);
    }
    std::vector<std::int32_t> two(2);
    EXPECT_THROW(quantise(std::vector<double>{1}, 1, two), InputError);
}

TEST(Quantise, TheLeastStepFits) {
    for (const double value : {1e-290, 3e-9, 1.0, 7e11, 1e300}) {
        const std::vector<double> d = {0, value, -value / 3};
        EXPECT_EQ(quantised(d, least_step(d))[1], largest_integer);
        EXPECT_THROW(quantised(d, least_step(d) / 1.001), InputError);
    }
    EXPECT_EQ(quantised({0, 0}, least_step(std::vector<double>{0, 0})), (std::vector<std::int32_t>{0, 0}));
}

}  // namespace
}  // namespace couplet
