#include "couplet/ctt/weighting.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

constexpr Index first = 3, second = 4;  // labels beside (any), which stands at 1 and at 0

/// Presences a and b of each patient, as (1, a) x (1, b).
Tensor<double> patients(Index count, std::uint64_t seed) {
    Tensor<double> x(Shape{count, first + 1, second + 1});
    Random random(seed);
    for (Index p = 0; p < count; ++p) {
        std::vector<double> a(first + 1, 1), b(second + 1, 1);
        for (Index i = 0; i <= first; ++i) a[static_cast<std::size_t>(i)] = i == 1 || random.uniform() < 0.4 ? 1 : 0;
        for (Index j = 1; j <= second; ++j) b[static_cast<std::size_t>(j)] = random.uniform() < 0.2 ? 1 : 0;
        for (Index i = 0; i <= first; ++i) {
            for (Index j = 0; j <= second; ++j) {
                x.data()[(p * (first + 1) + i) * (second + 1) + j] =
                    a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(j)];
            }
        }
    }
    return x;
}

const std::vector<Index> places{1, 0};

Centring weights(const Tensor<double>& x, Weight weight) {
    const CentringOptions how{.weight = weight, .any_at = places};
    return centring_of(feature_sums(x.view(), how), how);
}

TEST(WeightingTest, CellsAreProductsOfWeightedDepartures) {
    const Tensor<double> x = patients(200, 1);
    for (const auto& [weight, power] : {std::pair{Weight::sqrt, 0.25}, std::pair{Weight::pearson, 0.5}}) {
        const Centring how = weights(x, weight);
        const Tensor<double> y = centred(x.view(), how, "x");
        const auto at = [&](const Tensor<double>& t, Index p, Index i, Index j) {
            return t.data()[(p * (first + 1) + i) * (second + 1) + j];
        };
        const auto mu = prevalences(how.mean, Shape{first + 1, second + 1}, places, 0);
        const auto nu = prevalences(how.mean, Shape{first + 1, second + 1}, places, 1);
        for (const Index p : {0, 57, 199}) {
            EXPECT_EQ(at(y, p, 1, 0), 0) << "what every patient has is no departure";
            for (const Index i : {0, 2, 3}) {
                const double m = mu[static_cast<std::size_t>(i)];
                const double a = (at(x, p, i, 0) - m) / std::pow(m, power);
                EXPECT_NEAR(at(y, p, i, 0), a / 2, 1e-12);
                for (Index j = 1; j <= second; ++j) {
                    const double n = nu[static_cast<std::size_t>(j)];
                    EXPECT_NEAR(at(y, p, i, j), a * (at(x, p, 1, j) - n) / std::pow(n, power), 1e-12);
                }
            }
        }
    }
}

TEST(WeightingTest, TheWayBackIsExact) {
    const Tensor<double> x = patients(50, 2);
    for (const Weight weight : {Weight::sqrt, Weight::pearson}) {
        const Centring how = weights(x, weight);
        const Tensor<double> back = restored(centred(x.view(), how, "x").view(), how, "x");
        for (Index i = 0; i < x.size(); ++i) EXPECT_NEAR(back.data()[i], x.data()[i], 1e-12);
        // Patients of any number, with the federation's prevalences.
        const Tensor<double> few = patients(3, 9);
        const Tensor<double> again = restored(centred(few.view(), how, "x").view(), how, "x");
        for (Index i = 0; i < few.size(); ++i) EXPECT_NEAR(again.data()[i], few.data()[i], 1e-12);
    }
}

TEST(WeightingTest, MeanOfWeightedIndependentLabelsIsNothing) {
    const Tensor<double> x = patients(20'000, 3);
    const Tensor<double> y = centred(x.view(), weights(x, Weight::pearson), "x");
    const Index width = (first + 1) * (second + 1);
    for (Index cell = 0; cell < width; ++cell) {
        double sum = 0;
        for (Index p = 0; p < 20'000; ++p) sum += y.data()[p * width + cell];
        EXPECT_LT(std::abs(sum) / 20'000, 0.03) << cell;
    }
}

TEST(WeightingTest, LabelsThatNobodyHasStayAndFewPatientsAreNotTold) {
    Tensor<double> x = patients(100, 4);
    for (Index p = 0; p < 100; ++p) {
        for (Index j = 0; j <= second; ++j) x.data()[(p * (first + 1) + 2) * (second + 1) + j] = 0;
    }
    const Centring how = weights(x, Weight::pearson);
    const Tensor<double> y = centred(x.view(), how, "x");
    for (Index i = 0; i < y.size(); ++i) EXPECT_TRUE(std::isfinite(y.data()[i]));
    std::vector<double> mean(20, 0.09);
    for (const std::size_t margin : {0U, 5U, 6U, 7U, 8U, 9U, 10U, 15U}) mean[margin] = 0.01;
    const auto told = without_small_cells(mean, Shape{4, 5}, places, 100);
    for (std::size_t cell = 0; cell < 20; ++cell) {
        const bool margin = cell / 5 == 1 || cell % 5 == 0;
        EXPECT_EQ(told[cell], margin ? 0.01 : 0) << cell;
    }
    EXPECT_EQ(without_small_cells(std::vector<double>(20, 0.1), Shape{4, 5}, places, 100)[12], 0.1);
}

TEST(WeightingTest, OnlySumsOverPatientsAreNeeded) {
    const Tensor<double> x = patients(60, 5);
    const CentringOptions how{.weight = Weight::sqrt, .any_at = places};
    FeatureSums sums;
    sums.add(feature_sums(x.view().rows(0, 13), how));
    sums.add(feature_sums(x.view().rows(13, 47), how));
    EXPECT_EQ(centring_of(sums, how), weights(x, Weight::sqrt));
    EXPECT_EQ(sums_length(20, how), 21);
}

TEST(WeightingTest, FindsTheLabelInEveryModeOrNowhere) {
    const Schema schema = make_schema(Shape{3, 2}, {{"c", {"x", any_label, "y"}}, {"d", {any_label, "u"}}}, "s");
    EXPECT_EQ(find_any(schema), (std::vector<Index>{1, 0}));
    EXPECT_TRUE(find_any(make_schema(Shape{3, 2}, {{"c", {"x", any_label, "y"}}, {"d", {"v", "u"}}}, "s")).empty());
    EXPECT_TRUE(find_any(Schema{.features = Shape{3}}).empty());
}

TEST(WeightingTest, RefusesCountsAndOtherFeatures) {
    Tensor<double> x = patients(10, 6);
    const Centring how = weights(x, Weight::sqrt);
    EXPECT_THROW(centred(Tensor<double>(Shape{10, 5, 4}).view(), how, "x"), InputError);
    for (Index p = 0; p < 10; ++p) x.data()[p * 20 + 5] = 2;
    EXPECT_THROW(centred(x.view(), weights(x, Weight::sqrt), "x"), InputError);
    EXPECT_THROW(parse_weight("tf-idf"), InputError);
    for (const char* name : {"none", "sqrt", "pearson"}) EXPECT_EQ(to_string(parse_weight(name)), name);
}

}  // namespace
}  // namespace couplet
