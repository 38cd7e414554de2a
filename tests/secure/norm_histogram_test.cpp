#include "couplet/secure/norm_histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(NormHistogram, CountsEveryRecordInItsClass) {
    auto x = Tensor<double>::zeros({4, 3});
    x.data()[0] = 1;      // norm 1
    x.data()[3] = 1.05;   // the same class
    x.data()[6] = 1e-38;  // nearly the least; the last is empty
    const auto counts = norm_histogram(x.view());
    EXPECT_EQ(counts.size(), norm_classes);
    EXPECT_EQ(histogram_total(counts), 3U);
    EXPECT_EQ(counts[0], 0U);
    EXPECT_EQ(counts[norm_class(1e-38)], 1U);
    EXPECT_EQ(counts[1024], 2U);
}

TEST(NormHistogram, RefusesNormsThatHaveNoClass) {
    for (const double norm : {1e50, 1e-50, 1e160, 1e-160, 3e-320}) {
        auto x = Tensor<double>::zeros({2, 3});
        x.data()[4] = norm;
        try {
            norm_histogram(x.view(), "client 3");
            ADD_FAILURE() << norm;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("client 3: a norm of"), std::string::npos) << error.what();
        }
    }
}

TEST(NormHistogram, QuantilesAreUpperEndsWithinAnEighthOfADoubling) {
    auto x = Tensor<double>::zeros({100, 1});
    for (Index i = 0; i < 100; ++i) x.data()[i] = static_cast<double>(i + 1);
    const auto counts = norm_histogram(x.view());
    for (const double q : {0.1, 0.5, 0.9, 1.0}) {
        EXPECT_GE(histogram_quantile(counts, q), 100 * q);
        EXPECT_LE(histogram_quantile(counts, q), 100 * q * std::exp2(0.125) * 1.0001);
    }
    EXPECT_EQ(histogram_quantile(std::vector<std::uint64_t>(norm_classes, 0), 0.9), 0);
    std::vector<std::uint64_t> zeros(norm_classes, 0);
    zeros[0] = 5;
    EXPECT_EQ(histogram_quantile(zeros, 1), 0);
}

}  // namespace
}  // namespace couplet
