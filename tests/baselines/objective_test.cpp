#include "objective.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
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

}  // namespace
}  // namespace couplet
