#include "couplet/models/factors.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/models/agreement.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

constexpr FactorModel all_models[] = {FactorModel::pca, FactorModel::cp, FactorModel::nncp, FactorModel::tucker};

double mean_congruence(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b) {
    double sum = 0;
    const auto found = factor_agreement(a, b, 0).congruence;
    for (const double one : found) sum += one;
    return sum / static_cast<double>(found.size());
}

TEST(FactorsTest, PlantedComponentsAreFoundInNoise) {
    const auto signs = planted({60, 12, 11}, 4, 0.1, false, 3);
    const auto site = merged(signs.x, 20);
    const auto cp = fit_factors(site.rows, {.model = FactorModel::cp, .components = 4});
    EXPECT_GT(mean_congruence(signs.factors, cp.factors), 0.95);
    EXPECT_TRUE(cp.converged);

    const auto positive = planted({80, 14, 13}, 4, 0.1, true, 5);
    const auto nn = fit_factors(merged(positive.x, 20).rows, {.model = FactorModel::nncp, .components = 4});
    EXPECT_GT(mean_congruence(positive.factors, nn.factors), 0.95);
    for (const auto& factor : nn.factors) {
        for (Index i = 0; i < factor.size(); ++i) EXPECT_GE(factor.data()[i], 0);
    }
}

TEST(FactorsTest, OrdersTwoToSixAreFitted) {
    const std::vector<Shape> shapes{{40, 9}, {40, 7, 6}, {40, 6, 5, 4}, {40, 5, 4, 3, 3}, {40, 4, 3, 3, 2, 3}};
    for (const Shape& shape : shapes) {
        const auto made = planted(shape, 3, 0, true, 7);
        const auto site = merged(made.x, 12);
        for (const FactorModel model : all_models) {
            const auto fit = fit_factors(site.rows, {.model = model, .components = 3, .tolerance = 1e-13});
            EXPECT_LT(fit.rel_error, 0.05) << shape.to_string() << " " << to_string(model);
            EXPECT_NEAR(fit.rel_error, error_on(made.x, fit.rows), 1e-6) << shape.to_string();
            EXPECT_EQ(fit.rows.left_rank(), 3);
        }
    }
}

TEST(FactorsTest, TheErrorOfAllPatientsIsWithinTheBound) {
    Random random(11);
    for (int world = 0; world < 60; ++world) {
        const Shape shape{10 + static_cast<Index>(random.below(30)), 2 + static_cast<Index>(random.below(7)),
                          2 + static_cast<Index>(random.below(6))};
        const auto made =
            planted(shape, 1 + static_cast<Index>(random.below(5)), random.uniform(), false, random.next());
        const auto site = merged(made.x, 2 + static_cast<Index>(random.below(8)));
        const Index most = std::min<Index>(3, site.rows.features.left_rank());
        const FactorOptions options{
            .model = all_models[world % 4],
            .components = 1 + static_cast<Index>(random.below(static_cast<std::uint64_t>(most))),
            .starts = 2,
            .sweeps = 50};
        const auto fit = fit_factors(site.rows, options);
        const double exact = error_on(made.x, fit.rows);
        EXPECT_LE(exact, certified_error(fit.rel_error, site.bound) + 1e-12) << world << " " << shape.to_string();
        EXPECT_GE(exact, fit.rel_error * (1 - site.bound) - site.bound - 1e-6) << "nor is it far below";
    }
}

TEST(FactorsTest, TheErrorIsWithinTheBoundOfThePatientsProjections) {
    Random random(12);
    double pca_gap = 0;
    for (int world = 0; world < 60; ++world) {
        const Shape shape{10 + static_cast<Index>(random.below(30)), 2 + static_cast<Index>(random.below(7)),
                          2 + static_cast<Index>(random.below(6))};
        const auto made =
            planted(shape, 1 + static_cast<Index>(random.below(5)), random.uniform(), false, random.next());
        const auto site = merged(made.x, 2 + static_cast<Index>(random.below(8)));
        const PersonalFit patients = refit(made.x.view(), {site.rows.features.clone(), site.sigma, true});
        const std::vector<MatrixView<const double>> personal{std::as_const(patients.personal).view()};
        const auto rows = rows_of_patients(site.rows.features, personal);
        const Index most = std::min<Index>(3, site.rows.features.left_rank());
        const FactorOptions options{
            .model = all_models[world % 4],
            .components = 1 + static_cast<Index>(random.below(static_cast<std::uint64_t>(most))),
            .starts = 2,
            .sweeps = 50};
        const auto fit = fit_factors(site.rows, options);
        const auto inside = captured(rows.features, fit.rows);
        const double bound = certified_error_of_patients(rel_error_on(rows, inside), patients.error2 / patients.norm2,
                                                         largest_sine(inside, options.components));
        const double exact = error_on(made.x, fit.rows);
        EXPECT_LE(exact, bound + 1e-9) << world << " " << shape.to_string();
        if (options.model == FactorModel::pca) pca_gap = std::max(pca_gap, bound - exact);
    }
    EXPECT_LT(pca_gap, 1e-5) << "inside the features it is the error";
}

TEST(FactorsTest, DataWithNegativeEntriesIsNoticed) {
    EXPECT_TRUE(looks_signed(merged(planted({40, 8, 7}, 3, 0.1, false, 83).x, 10).rows));
    EXPECT_FALSE(looks_signed(merged(planted({40, 8, 7}, 3, 0, true, 83).x, 10).rows));
}

TEST(FactorsTest, TheSameBitsForEveryNumberOfThreads) {
    const auto site = merged(planted({50, 11, 9}, 4, 0.3, true, 13).x, 15);
    const int before = thread_count();
    for (const FactorModel model : all_models) {
        std::set<std::vector<double>> seen;
        for (const int threads : {1, 3}) {
            set_thread_count(threads);
            const auto fit = fit_factors(site.rows, {.model = model, .components = 4, .sweeps = 40});
            std::vector<double> numbers = fit.weights;
            for (const auto& factor : fit.factors)
                numbers.insert(numbers.end(), factor.data(), factor.data() + factor.size());
            seen.insert(std::move(numbers));
        }
        EXPECT_EQ(seen.size(), 1U) << to_string(model);
    }
    set_thread_count(before);
}

TEST(FactorsTest, ColumnsHaveNormOneASignAndAnOrder) {
    const auto site = merged(planted({50, 8, 7}, 3, 0.2, false, 17).x, 12);
    for (const FactorModel model : {FactorModel::cp, FactorModel::nncp, FactorModel::tucker}) {
        const auto fit = fit_factors(site.rows, {.model = model, .components = 3});
        for (const auto& factor : fit.factors) {
            for (Index r = 0; r < factor.cols(); ++r) {
                double square = 0;
                double largest = 0;
                for (Index i = 0; i < factor.rows(); ++i) {
                    square += factor(i, r) * factor(i, r);
                    if (std::abs(factor(i, r)) > std::abs(largest)) largest = factor(i, r);
                }
                EXPECT_NEAR(square, 1, 1e-10);
                EXPECT_GT(largest, 0);
            }
        }
        for (std::size_t r = 1; r < fit.weights.size(); ++r) EXPECT_GE(fit.weights[r - 1], fit.weights[r]);
    }
}

TEST(FactorsTest, TheTuckerCoreAndTheBasesAreTheModel) {
    const auto made = planted({40, 7, 6}, 4, 0.2, false, 19);
    const auto site = merged(made.x, 20);
    const auto fit = fit_factors(site.rows, {.model = FactorModel::tucker, .components = 3});
    ASSERT_TRUE(fit.core);
    EXPECT_EQ(fit.core->shape(), Shape({3, 3, 3}));
    const auto rows = fit.rows.full();
    for (Index r = 0; r < 3; ++r) {
        for (Index i = 0; i < 7; ++i) {
            for (Index j = 0; j < 6; ++j) {
                double sum = 0;
                for (Index p = 0; p < 3; ++p) {
                    for (Index q = 0; q < 3; ++q) {
                        sum += fit.core->data()[(r * 3 + p) * 3 + q] * fit.factors[0](i, p) * fit.factors[1](j, q);
                    }
                }
                EXPECT_NEAR(rows.data()[(r * 7 + i) * 6 + j], sum, 1e-9 * site.rows.norm());
            }
        }
    }
}

TEST(FactorsTest, ModesOfOneAndMoreComponentsThanAModeHas) {
    const auto made = planted({30, 1, 5}, 3, 0.1, true, 23);
    const auto site = merged(made.x, 5);
    for (const FactorModel model : all_models) {
        const auto fit = fit_factors(site.rows, {.model = model, .components = 4});
        EXPECT_LE(fit.rel_error, 0.3) << to_string(model);
        EXPECT_NEAR(fit.rel_error, error_on(made.x, fit.rows), 2e-2);
    }
    const auto tucker = fit_factors(site.rows, {.model = FactorModel::tucker, .components = 4});
    EXPECT_EQ(tucker.core->shape(), Shape({4, 1, 4}));
}

TEST(FactorsTest, WhatMakesNoSenseIsRefused) {
    const auto site = merged(planted({30, 5, 4}, 2, 0.1, false, 29).x, 6);
    const auto refused = [&](Index components, const std::string& part) {
        try {
            fit_factors(site.rows, {.components = components});
            ADD_FAILURE() << components << " were fitted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    refused(0, "1 or more");
    refused(7, "at most 6");
    refused(7, "`rank` of 7");
    EXPECT_THROW(parse_factor_model("ica"), InputError);
    EXPECT_EQ(parse_factor_model("nncp"), FactorModel::nncp);
}

/// The border of rank 2: a o a o b + a o b o a + b o a o a is a limit of rank-2 tensors and of none of the best.
TEST(FactorsTest, ComponentsThatCancelTakeARidge) {
    auto x = Tensor<double>::zeros({2, 2, 2});
    x.data()[1] = x.data()[2] = x.data()[4] = 1;
    const auto site = merged(x, 2);
    const auto fit = fit_factors(site.rows, {.components = 2, .sweeps = 3000, .tolerance = 1e-14});
    EXPECT_GT(fit.ridge, FactorOptions{}.ridge);
    EXPECT_LT(fit.rel_error, 0.5);
}

TEST(FactorsTest, ACertificateIsAtMostEverything) {
    EXPECT_EQ(certified_error(0.9, 0.8), 1);
    EXPECT_DOUBLE_EQ(certified_error(0.1, 0.2), 0.1 * 1.2 + 0.2);
}

}  // namespace
}  // namespace couplet::testing
