#include "storage.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/linalg/reference.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::message_of;
using support::naive_norm_of;
using support::orthonormal_columns;
using support::random_tensor;

constexpr double float_roundoff = std::numeric_limits<float>::epsilon() / 2.0;

TEST(ProjectionRounding, GrowsWithTheRootOfTheLengthAndFloatPaysOnce) {
    constexpr double u = std::numeric_limits<double>::epsilon() / 2;
    EXPECT_NEAR(projection_rounding<double>(100) / u, 48, 1e-9);
    EXPECT_NEAR(projection_rounding<double>(10000) / u, 408, 1e-9);
    EXPECT_EQ(projection_rounding<float>(100), projection_rounding<double>(100) + float_roundoff);
}

TEST(CoreStore, DoubleCoresAreKeptAsTheyAre) {
    CoreStore<double> store;
    const auto core = random_tensor<double>({3, 4, 5});
    EXPECT_TRUE(std::ranges::equal(store.orthonormal(Tensor<double>::copy(core.view()), Orthogonality::left).elements(),
                                   core.elements()));
    EXPECT_TRUE(
        std::ranges::equal(store.carrier(Tensor<double>::copy(core.view()), 0, 7.0).elements(), core.elements()));
    const auto scaled = store.carrier(Tensor<double>::copy(core.view()), 900, 7.0);
    EXPECT_EQ(scaled.data()[11], std::ldexp(core.data()[11], 900));
    EXPECT_EQ(store.rounding(), 0);
}

/// Largest singular value of what storing changed, by the definition.
double true_rounding(const Tensor<double>& meant, const Tensor<float>& stored, Orthogonality kind) {
    Tensor<double> lost(meant.shape());
    for (Index i = 0; i < lost.size(); ++i) lost.data()[i] = static_cast<double>(stored.data()[i]) - meant.data()[i];
    return reference::svd(lost.view().unfold(kind == Orthogonality::left ? 2 : 1)).sigma.front();
}

TEST(CoreStore, FloatRoundingIsBoundedCloselyOnEitherSide) {
    for (const auto& [rows, rank] : {std::pair<Index, Index>{12, 1}, {30, 7}, {200, 40}}) {
        const auto q = orthonormal_columns(rows, rank, 5);
        Tensor<double> left({rows / 2, 2, rank});
        std::copy_n(q.data(), q.size(), left.data());
        const auto qt = transpose(q.view());
        Tensor<double> right({rank, 2, rows / 2});
        std::copy_n(qt.data(), qt.size(), right.data());
        for (const auto* core : {&left, &right}) {
            const auto kind = core == &left ? Orthogonality::left : Orthogonality::right;
            CoreStore<float> store;
            const auto stored = store.orthonormal(Tensor<double>::copy(core->view()), kind);
            const double exact = true_rounding(*core, stored, kind);
            EXPECT_GE(store.rounding(), exact * (1 - 1e-9));
            EXPECT_LE(store.rounding(), 2 * exact);
            EXPECT_LE(store.rounding(), 3 * float_roundoff);
        }
    }
}

TEST(CoreStore, RoundingsAddUpAndTheCarriersIsRelative) {
    const auto core = random_tensor<double>({2, 9, 3}, 3, 1e20);
    const double norm = static_cast<double>(naive_norm_of(core));
    CoreStore<float> once;
    const auto stored = once.carrier(Tensor<double>::copy(core.view()), 0, norm);
    long double lost2 = 0;
    for (Index i = 0; i < core.size(); ++i) {
        const long double d = static_cast<long double>(stored.data()[i]) - core.data()[i];
        lost2 += d * d;
    }
    EXPECT_NEAR(once.rounding(), static_cast<double>(std::sqrt(lost2)) / norm, 1e-6 * once.rounding());
    once.carrier(Tensor<double>::copy(core.view()), 0, norm);
    EXPECT_NEAR(once.rounding(), 2 * static_cast<double>(std::sqrt(lost2)) / norm, 1e-6 * once.rounding());
    CoreStore<float> exact;
    EXPECT_EQ(exact.carrier(Tensor<float>::copy(stored.view()), 0, norm).data()[5], stored.data()[5]);
    exact.carrier(Tensor<float>::copy(stored.view()), -20, norm);
    EXPECT_EQ(exact.rounding(), 0);
    exact.carrier(Tensor<double>::zeros({1, 2, 1}), 3, 0);
    EXPECT_EQ(exact.rounding(), 0);
}

TEST(CoreStore, DenormalsCountAsRounding) {
    CoreStore<double> store;
    const auto core = random_tensor<double>({2, 5, 3}, 3);
    const double norm = static_cast<double>(naive_norm_of(core));
    const auto stored = store.carrier(Tensor<double>::copy(core.view()), -1050, norm);
    double lost2 = 0;
    for (Index i = 0; i < core.size(); ++i) {
        const double d = std::ldexp(stored.data()[i], 1050) - core.data()[i];
        lost2 += d * d;
    }
    EXPECT_GT(lost2, 0);
    EXPECT_NEAR(store.rounding(), std::sqrt(lost2) / norm, 1e-12 * store.rounding());
}

TEST(CoreStore, RefusesWhatTheTypeCannotHold) {
    CoreStore<float> single;
    EXPECT_EQ(message_of([&] {
                  single.carrier(random_tensor<double>({1, 3, 1}, 1), 130, 2.0);
              }),
              "tensor: a norm of about 1e39, which one core must hold; expected a norm between 1.4013e-45 and "
              "3.40282e+38. Save the values as float64, or scale them first.");
    EXPECT_EQ(message_of([&] {
                  single.carrier(random_tensor<float>({1, 3, 1}, 1), -160, 1.0);
              }),
              "tensor: a norm of about 1e-48, which one core must hold; expected a norm between 1.4013e-45 and "
              "3.40282e+38. Save the values as float64, or scale them first.");
    CoreStore<double> wide;
    EXPECT_EQ(message_of([&] {
                  wide.carrier(random_tensor<double>({1, 3, 1}, 1), 1030, 1.0);
              }),
              "tensor: a norm of about 1e310, which one core must hold; expected a norm between 4.94066e-324 and "
              "1.79769e+308. Scale the values first.");
    EXPECT_EQ(single.rounding(), 0);
}

}  // namespace
}  // namespace couplet
