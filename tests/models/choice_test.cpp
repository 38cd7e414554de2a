#include "couplet/models/choice.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

struct Site {
    OneSite merge;
    Matrix<double> personal;
    std::vector<MatrixView<const double>> all() const { return {personal.view()}; }
};

Site site_of(const Tensor<double>& x, Index rank) {
    auto merge = merged(x, rank);
    Features features{merge.rows.features.clone(), merge.sigma, true};
    return {std::move(merge), refit(x.view(), features).personal};
}

TEST(ChoiceTest, ThePlantedNumberIsChosen) {
    const Site site = site_of(planted({200, 14, 12}, 3, 0.1, true, 3).x, 20);
    for (const FactorModel model : {FactorModel::cp, FactorModel::nncp, FactorModel::pca, FactorModel::tucker}) {
        const Choice choice =
            choose_components(site.merge.rows, site.all(), {.fit = {.model = model}, .most = 5, .resamples = 3});
        EXPECT_TRUE(choice.resampled);
        EXPECT_EQ(choice.components, 3) << to_string(model);
        ASSERT_EQ(choice.points.size(), 5U);
        EXPECT_LT(choice.points[2].held_out.value(), choice.points[1].held_out.value());
        EXPECT_GT(choice.points[2].agreement, 0.9);
    }
}

TEST(ChoiceTest, NothingIsStableInNoise) {
    Random random(5);
    Tensor<double> x({120, 15, 12});
    for (double& value : x.elements()) value = random.normal();
    const Site site = site_of(x, 30);
    for (const FactorModel model : {FactorModel::cp, FactorModel::nncp, FactorModel::pca, FactorModel::tucker}) {
        const Choice choice =
            choose_components(site.merge.rows, site.all(), {.fit = {.model = model}, .most = 4, .resamples = 3});
        EXPECT_EQ(choice.components, 0) << to_string(model);
    }
}

TEST(ChoiceTest, WithoutPatientsOnlyStartsAreCompared) {
    const Site site = site_of(planted({150, 12, 10}, 2, 0.1, true, 7).x, 12);
    const Choice choice = choose_components(site.merge.rows, {}, {.fit = {.model = FactorModel::cp}, .most = 4});
    EXPECT_FALSE(choice.resampled);
    EXPECT_GE(choice.components, 2);
    EXPECT_FALSE(choice.points.front().held_out);
    EXPECT_THROW(choose_components(site.merge.rows, {}, {.fit = {.model = FactorModel::pca}}), InputError);
}

TEST(ChoiceTest, TheCoreOfAProductIsConsistentAndThatOfTooManyIsNot) {
    const auto site = merged(planted({100, 12, 10}, 3, 0.05, false, 9).x, 20);
    const auto three = fit_factors(site.rows, {.components = 3});
    EXPECT_GT(core_consistency(site.rows, three).value(), 0.95);
    const auto five = fit_factors(site.rows, {.components = 5});
    EXPECT_LT(core_consistency(site.rows, five).value(), 0.5);
    EXPECT_FALSE(core_consistency(site.rows, fit_factors(site.rows, {.model = FactorModel::tucker, .components = 3})));
    const auto narrow = merged(planted({100, 2, 10}, 3, 0.05, false, 9).x, 15);
    EXPECT_FALSE(core_consistency(narrow.rows, fit_factors(narrow.rows, {.components = 3})));
}

TEST(ChoiceTest, ReplicabilityIsHighForWhatIsThere) {
    const Site site = site_of(planted({200, 12, 10}, 3, 0.1, true, 13).x, 15);
    const FactorOptions options{.model = FactorModel::cp, .components = 3};
    const auto found = replicate(site.merge.rows, site.all(), fit_factors(site.merge.rows, options), options, 2);
    ASSERT_EQ(found.congruence.size(), 3U);
    for (const double one : found.congruence) EXPECT_GT(one, 0.9);
    EXPECT_LT(found.chance, 0.6);
}

TEST(ChoiceTest, SitesWithoutPatientsAndWithOneAreNoHindrance) {
    const Site site = site_of(planted({60, 8, 7}, 2, 0.1, true, 17).x, 10);
    const auto& personal = site.personal;
    const std::vector<MatrixView<const double>> sites{personal.view().rows_from(0, 1), personal.view().rows_from(1, 0),
                                                      personal.view().rows_from(1, 59)};
    const Choice choice = choose_components(site.merge.rows, sites, {.fit = {.model = FactorModel::cp}, .most = 2});
    EXPECT_TRUE(choice.resampled);
    EXPECT_EQ(choice.components, 2);
}

}  // namespace
}  // namespace couplet::testing
