#include "couplet/secure/noisy_gram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "couplet/core/random.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

Matrix<double> random_gram(Index n, Index rank, double decay) {
    Random random(3);
    Matrix<double> x(rank, n);
    for (Index i = 0; i < rank; ++i) {
        for (Index j = 0; j < n; ++j) x(i, j) = random.normal() * std::pow(decay, static_cast<double>(j));
    }
    return gram<double>(x.view(), Side::right);
}

double distance(const Matrix<double>& a, const Matrix<double>& b) {
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i) sum += (a.data()[i] - b.data()[i]) * (a.data()[i] - b.data()[i]);
    return std::sqrt(sum);
}

TEST(PackSymmetric, KeepsTheNormAndComesBack) {
    for (const Index n : {1, 2, 7}) {
        const auto a = random_gram(n, 5, 1);
        const auto packed = pack_symmetric(a.view());
        ASSERT_EQ(static_cast<Index>(packed.size()), n * (n + 1) / 2);
        double squares = 0;
        for (const double one : packed) squares += one * one;
        EXPECT_NEAR(squares, squared_norm<double>(a.view()), 1e-9 * squares);
        EXPECT_LT(distance(unpack_symmetric(packed, n), a), 1e-12 * std::sqrt(squares));
    }
}

TEST(ShrinkGram, TakesOffMostOfTheNoise) {
    constexpr Index n = 40;
    const auto truth = random_gram(n, 200, 0.85);
    Random random(5);
    const double sigma = 5;
    auto packed = pack_symmetric(truth.view());
    for (double& one : packed) one += sigma * random.normal();
    const auto noisy = unpack_symmetric(packed, n);
    std::vector<double> diagonal;
    for (Index i = 0; i < n; ++i) diagonal.push_back(noisy(i, i));
    const auto clean = shrink_gram(noisy.view(), sigma * sigma, diagonal);
    EXPECT_LT(distance(clean, truth), 0.5 * distance(noisy, truth));
    for (Index i = 0; i < n; ++i) {
        EXPECT_EQ(clean(i, i), std::max(0.0, diagonal[static_cast<std::size_t>(i)]));
        for (Index j = 0; j < i; ++j) EXPECT_EQ(clean(i, j), clean(j, i));
    }
}

/// Sparse entries are better shrunk one by one, a few smooth patterns are not: the matrix itself tells which.
TEST(CleanGram, KeepsWhatTheLeadingDirectionsNeed) {
    constexpr Index n = 60;
    const auto energy_kept = [&](const Matrix<double>& truth, double sigma, double strength) {
        auto packed = pack_symmetric(truth.view());
        Random noise(17);
        for (double& one : packed) one += sigma * noise.normal();
        const auto noisy = unpack_symmetric(packed, n);
        std::vector<double> diagonal;
        for (Index i = 0; i < n; ++i) diagonal.push_back(noisy(i, i));
        const auto clean = strength < 0 ? clean_gram(noisy.view(), sigma * sigma, 5)
                                        : shrink_gram(noisy.view(), sigma * sigma, diagonal, strength);
        const auto vectors = symmetric_eigen(clean.view(), 5).vectors;
        const auto image = product<double>(truth.view(), vectors.view());
        double energy = 0;
        for (Index i = 0; i < vectors.size(); ++i) energy += vectors.data()[i] * image.data()[i];
        return energy;
    };
    Matrix<double> waves(4, n);
    for (Index k = 0; k < 4; ++k) {
        for (Index j = 0; j < n; ++j)
            waves(k, j) = std::cos(0.1 * static_cast<double>((k + 1) * j)) / static_cast<double>(1 + k);
    }
    const auto smooth = gram<double>(waves.view(), Side::right);
    const auto sparse = random_gram(n, 300, 0.93);
    for (const auto& [truth, sigma] : {std::pair{&smooth, 1.0}, std::pair{&sparse, 25.0}}) {
        const double best = std::max(energy_kept(*truth, sigma, 0), energy_kept(*truth, sigma, 1));
        EXPECT_GT(energy_kept(*truth, sigma, -1), 0.97 * best);
    }
    EXPECT_GT(energy_kept(smooth, 1, 0), 1.02 * energy_kept(smooth, 1, 1));
    EXPECT_GT(energy_kept(sparse, 25, 1), 1.02 * energy_kept(sparse, 25, 0));
}

TEST(ShrinkGram, LeavesWhatHasNoNoise) {
    const auto truth = random_gram(12, 30, 0.9);
    std::vector<double> diagonal;
    for (Index i = 0; i < 12; ++i) diagonal.push_back(truth(i, i));
    EXPECT_LT(distance(shrink_gram(truth.view(), 0, diagonal), truth), 1e-12);
    const auto nothing = Matrix<double>::zeros(3, 3);
    EXPECT_EQ(max_magnitude<double>(shrink_gram(nothing.view(), 0, std::vector<double>(3, 0.0)).view()), 0);
}

}  // namespace
}  // namespace couplet
