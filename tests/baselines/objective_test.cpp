#include "objective.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "fibers.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

Tensor<double> zeros_and_ones(const Shape& shape, std::uint64_t seed) {
    auto x = normal_tensor(shape, seed);
    for (double& value : x.elements()) value = value > 0.5 ? 1 : 0;
    return x;
}

CpObjective objective_of(Tensor<double> x, Loss loss) {
    return {std::make_shared<const Tensor<double>>(std::move(x)), loss};
}

class ObjectiveOf : public ::testing::TestWithParam<Loss> {};

TEST_P(ObjectiveOf, GradientIsTheFiniteDifference) {
    for (const Shape& shape : {Shape{4, 3}, Shape{4, 3, 5}, Shape{3, 2, 4, 2}}) {
        const auto objective = objective_of(zeros_and_ones(shape, 3), GetParam());
        auto factors = normal_factors(shape, 3, 2);
        for (Index mode = 0; mode < shape.order(); ++mode) {
            const auto gradient = objective.gradient(factors, mode);
            auto& factor = factors[static_cast<std::size_t>(mode)];
            constexpr double h = 1e-5;
            for (Index i = 0; i < factor.size(); ++i) {
                const double at = factor.data()[i];
                factor.data()[i] = at + h;
                const double above = objective.fit(factors).objective;
                factor.data()[i] = at - h;
                const double below = objective.fit(factors).objective;
                factor.data()[i] = at;
                EXPECT_NEAR(gradient.value.data()[i], (above - below) / (2 * h), 1e-6) << "mode " << mode;
            }
        }
    }
}

TEST_P(ObjectiveOf, SampledGradientsAverageToTheExactOne) {
    const Shape shape{4, 3, 5};
    const auto objective = objective_of(zeros_and_ones(shape, 8), GetParam());
    const auto factors = normal_factors(shape, 2, 5);
    Random random(3);
    for (Index mode = 0; mode < 3; ++mode) {
        const auto exact = objective.gradient(factors, mode);
        auto mean = Matrix<double>::zeros(shape[mode], 2);
        constexpr int times = 20'000;
        for (int t = 0; t < times; ++t) {
            add_scaled(mean, 1.0 / times, objective.gradient(factors, mode, 3, random).value);
        }
        EXPECT_LT(distance(mean, exact.value), 0.05 * std::sqrt(inner_product(exact.value, exact.value)));
        EXPECT_EQ(distance(objective.gradient(factors, mode, 0, random).value, exact.value), 0);
        EXPECT_EQ(distance(objective.gradient(factors, mode, 1000, random).value, exact.value), 0);
    }
}

TEST_P(ObjectiveOf, AStepOfOneOverTheCurvatureNeverOvershoots) {
    const Shape shape{5, 4, 3};
    const auto objective = objective_of(zeros_and_ones(shape, 2), GetParam());
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto factors = normal_factors(shape, 3, seed);
        for (Index mode = 0; mode < 3; ++mode) {
            const double before = objective.fit(factors).objective;
            const auto gradient = objective.gradient(factors, mode);
            add_scaled(factors[static_cast<std::size_t>(mode)], -1 / gradient.curvature, gradient.value);
            const double promised = inner_product(gradient.value, gradient.value) / (2 * gradient.curvature);
            EXPECT_LE(objective.fit(factors).objective, before - promised + 1e-9 * before);
        }
    }
}

TEST_P(ObjectiveOf, BestPersonalFactorLeavesNoGradient) {
    const Shape shape{6, 5, 4};
    const auto objective = objective_of(zeros_and_ones(shape, 4), GetParam());
    auto factors = normal_factors(shape, 2, 1);
    const double before = objective.gradient(factors, 0).value(0, 0);
    factors[0] = objective.best_personal(factors);
    const auto gradient = objective.gradient(factors, 0).value;
    EXPECT_LT(std::sqrt(inner_product(gradient, gradient)), 1e-3) << "was " << before;
}

INSTANTIATE_TEST_SUITE_P(Losses, ObjectiveOf, ::testing::Values(Loss::square, Loss::logistic),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST(Objective, ErrorFromNormsIsTheErrorEntryByEntry) {
    const Shape shape{6, 4, 5};
    const auto x = normal_tensor(shape, 1);
    const auto factors = normal_factors(shape, 3, 2);
    const auto model = model_tensor(factors, shape);
    double error2 = 0;
    for (Index i = 0; i < x.size(); ++i) error2 += std::pow(x.data()[i] - model.data()[i], 2);
    const auto fit = objective_of(Tensor<double>::copy(x.view()), Loss::square).fit(factors);
    EXPECT_NEAR(fit.error2, error2, 1e-10 * error2);
    EXPECT_NEAR(fit.objective, error2 / 2, 1e-10 * error2);
}

TEST(Objective, AModelThatIsNotFiniteHasNoError) {
    auto factors = normal_factors({4, 3, 5}, 2, 1);
    const auto objective = objective_of(normal_tensor({4, 3, 5}, 3), Loss::square);
    factors[1](2, 0) = NAN;
    EXPECT_TRUE(std::isnan(objective.fit(factors).error2));
    EXPECT_TRUE(std::isnan(objective.fit(factors).objective));
}

TEST(Objective, LogisticLossSurvivesLargeModels) {
    const auto objective = objective_of(zeros_and_ones({3, 4}, 2), Loss::logistic);
    auto factors = normal_factors({3, 4}, 1, 3);
    for (auto& factor : factors) {
        for (Index i = 0; i < factor.size(); ++i) factor.data()[i] *= 1e3;
    }
    EXPECT_TRUE(std::isfinite(objective.fit(factors).objective));
    EXPECT_LE(objective.fit(factors).error2, 12);
}

TEST(Objective, SparseDataGiveTheSameNumbers) {
    auto x = Tensor<double>::zeros({20, 10, 10});
    for (Index i = 0; i < x.size(); i += 97) x.data()[i] = 1 + static_cast<double>(i % 5);
    const auto factors = normal_factors(x.shape(), 4, 2);
    const auto objective = objective_of(Tensor<double>::copy(x.view()), Loss::square);
    ASSERT_TRUE(objective.is_sparse());
    for (Index mode = 0; mode < 3; ++mode) {
        EXPECT_LT(distance(objective.gradient(factors, mode).value, naive_gradient(x.view(), factors, mode)), 1e-8);
    }
}

TEST(Objective, LogisticDataAreZerosAndOnes) {
    auto x = zeros_and_ones({2, 3}, 1);
    require_zeros_and_ones(x.view(), 0);
    x.data()[4] = 0.5;
    try {
        require_zeros_and_ones(x.view(), 2);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "client 3");
        EXPECT_NE(error.parts().found.find("(2, 2)"), std::string::npos) << error.parts().found;
    }
}

/// Sampled fibers: (J / |S|) times the sum over them of residual times Khatri-Rao row, by the definition.
TEST(Objective, ASampledGradientIsThatOfItsFibers) {
    const Shape shape{4, 3, 5};
    for (const Loss loss : {Loss::square, Loss::logistic}) {
        const auto x = zeros_and_ones(shape, 8);
        const auto objective = objective_of(Tensor<double>::copy(x.view()), loss);
        const auto factors = normal_factors(shape, 2, 5);
        for (Index mode = 0; mode < 3; ++mode) {
            for (const Index count : {1, 4}) {
                Random random(6);
                Random same(6);
                const auto found = objective.gradient(factors, mode, count, random);
                const auto fibers = sample_fibers(shape, mode, count, same);
                const double share = static_cast<double>(fiber_count(shape, mode)) / static_cast<double>(count);
                auto expected = Matrix<double>::zeros(shape[mode], 2);
                auto moments = Matrix<double>::zeros(2, 2);
                for (const Index start : fibers.starts) {
                    auto at = shape.indices(start);
                    double h[2] = {1, 1};
                    for (std::size_t n = 0; n < 3; ++n) {
                        for (Index r = 0; r < 2 && static_cast<Index>(n) != mode; ++r) h[r] *= factors[n](at[n], r);
                    }
                    for (Index r = 0; r < 2; ++r) {
                        for (Index s = 0; s < 2; ++s) moments(r, s) += share * h[r] * h[s];
                    }
                    for (Index i = 0; i < shape[mode]; ++i) {
                        at[static_cast<std::size_t>(mode)] = i;
                        double model = model_at(factors, at);
                        if (loss == Loss::logistic) model = 1 / (1 + std::exp(-model));
                        const double residual = model - x.data()[shape.offset(at)];
                        for (Index r = 0; r < 2; ++r) expected(i, r) += share * residual * h[r];
                    }
                }
                EXPECT_LT(distance(found.value, expected), 1e-11) << "mode " << mode;
                const double half = (moments(0, 0) - moments(1, 1)) / 2;
                const double top =
                    (moments(0, 0) + moments(1, 1)) / 2 + std::sqrt(half * half + moments(0, 1) * moments(0, 1));
                EXPECT_NEAR(found.curvature, loss == Loss::logistic ? top / 4 : top, 1e-10) << "mode " << mode;
            }
            // As many as there are is all of them, once each: nothing is drawn.
            Random untouched(6);
            const Index all = fiber_count(shape, mode);
            EXPECT_EQ(distance(objective.gradient(factors, mode, all, untouched).value,
                               objective.gradient(factors, mode).value),
                      0);
            EXPECT_EQ(untouched.below(1000), Random(6).below(1000));
            objective.gradient(factors, mode, all - 1, untouched);
            EXPECT_NE(untouched.below(1000000), Random(6).below(1000000));
        }
    }
}

TEST(Objective, TheLogisticLossIsItsDefinition) {
    const Shape shape{3, 4};
    const auto x = zeros_and_ones(shape, 2);
    const auto factors = normal_factors(shape, 2, 3);
    double loss = 0;
    double error2 = 0;
    for (Index i = 0; i < x.size(); ++i) {
        const double m = model_at(factors, shape.indices(i));
        loss += std::log(1 + std::exp(m)) - x.data()[i] * m;
        error2 += std::pow(x.data()[i] - 1 / (1 + std::exp(-m)), 2);
    }
    const auto objective = objective_of(Tensor<double>::copy(x.view()), Loss::logistic);
    EXPECT_NEAR(objective.fit(factors).objective, loss, 1e-12);
    EXPECT_NEAR(objective.fit(factors).error2, error2, 1e-12);
    EXPECT_FALSE(objective.is_sparse());
    const auto square = objective_of(Tensor<double>::copy(x.view()), Loss::square);
    EXPECT_NEAR(objective.gradient(factors, 0).curvature, square.gradient(factors, 0).curvature / 4, 1e-12);
    EXPECT_NEAR(square.gradient(factors, 1).curvature, largest_eigenvalue(khatri_rao_gram(factors, 1)), 1e-12);
}

TEST(Objective, ZerosAndOnesAreAsked) {
    auto x = zeros_and_ones({2, 3}, 1);
    for (const double value : {-1.0, 0.5, 2.0}) {
        x.data()[0] = value;
        try {
            require_zeros_and_ones(x.view(), 0);
            FAIL() << value;
        } catch (const InputError& error) {
            EXPECT_EQ(error.parts().where, "client 1");
            EXPECT_EQ(error.parts().found, std::to_string(value) + " at (1, 1)");
            EXPECT_EQ(error.parts().expected, "only 0 and 1 with `loss` logistic");
        }
    }
    EXPECT_FALSE(objective_of(zeros_and_ones({2, 3}, 1), Loss::square).is_zero());
    EXPECT_TRUE(objective_of(Tensor<double>::zeros({2, 3}), Loss::square).is_zero());
    auto tiny = Tensor<double>::zeros({2, 3});
    tiny.data()[5] = 1e-200;  // its square is zero
    EXPECT_FALSE(objective_of(std::move(tiny), Loss::square).is_zero());
}

}  // namespace
}  // namespace couplet
