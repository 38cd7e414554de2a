#include "clipping.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Clipping, WithoutAClipItIsTheGradient) {
    const Shape shape{7, 5, 4};
    const auto x = normal_tensor(shape, 1);
    const auto factors = normal_factors(shape, 3, 2);
    for (const Index mode : {1, 2}) {
        EXPECT_LT(distance(clipped_gradient(x.view(), factors, mode, 1e9), naive_gradient(x.view(), factors, mode)),
                  1e-10);
    }
}

TEST(Clipping, OnePatientMoreChangesItByTheClipAtMost) {
    const Shape shape{8, 5, 4};
    auto x = normal_tensor(shape, 3);
    // One patient is a hundred times as large as the others.
    for (Index i = 7 * 20; i < 8 * 20; ++i) x.data()[i] *= 100;
    Factors all = normal_factors(shape, 3, 4);
    Factors fewer = clone(all);
    fewer[0] = Matrix<double>::copy(fewer[0].view().rows_from(0, 7));
    for (const Index mode : {1, 2}) {
        for (const double clip : {0.1, 1.0, 10.0}) {
            const auto with = clipped_gradient(x.view(), all, mode, clip);
            const auto without = clipped_gradient(x.view().rows(0, 7), fewer, mode, clip);
            const double change = distance(with, without);
            EXPECT_LE(change, clip * (1 + 1e-12));
            EXPECT_GE(change, clip * 0.99);  // the large patient is at the clip
        }
    }
}

TEST(Clipping, CompositionIsThatOfZeroConcentratedPrivacy) {
    // rho = 1/2 for one release with noise 1.
    const auto one = gaussian_composition(1, 1, 1e-5);
    EXPECT_NEAR(one.epsilon, 0.5 + 2 * std::sqrt(0.5 * std::log(1e5)), 1e-12);
    // Four times the releases at twice the noise are the same.
    EXPECT_NEAR(gaussian_composition(2, 4, 1e-5).epsilon, one.epsilon, 1e-12);
    EXPECT_EQ(one.releases, 1);
}

TEST(Clipping, PartsBelowTheClipStayAsTheyAre) {
    const Shape shape{3, 2, 2};
    const auto x = normal_tensor(shape, 9);
    const auto factors = normal_factors(shape, 2, 8);
    for (const Index mode : {1, 2}) {
        std::vector<Matrix<double>> parts;
        std::vector<double> norms;
        for (Index i = 0; i < 3; ++i) {
            Factors own = clone(factors);
            own[0] = Matrix<double>::copy(factors[0].view().rows_from(i, 1));
            parts.push_back(naive_gradient(x.view().rows(i, 1), own, mode));
            norms.push_back(std::sqrt(inner_product(parts.back(), parts.back())));
        }
        const double clip = (norms[0] + norms[1]) / 2;  // one of the two is above
        auto expected = Matrix<double>::zeros(2, 2);
        for (std::size_t i = 0; i < 3; ++i) {
            expected = plus(expected, norms[i] > clip ? clip / norms[i] : 1, parts[i]);
        }
        EXPECT_LT(distance(clipped_gradient(x.view(), factors, mode, clip), expected), 1e-12);
    }
}

}  // namespace
}  // namespace couplet
