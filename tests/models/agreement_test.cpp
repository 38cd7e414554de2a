#include "couplet/models/agreement.hpp"

#include <utility>

#include "matrices.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

std::vector<Matrix<double>> factors_of(std::uint64_t seed, Index rank = 3) {
    std::vector<Matrix<double>> factors;
    for (const Index size : {Index{30}, Index{25}}) factors.push_back(support::orthonormal_columns(size, rank, seed++));
    return factors;
}

TEST(AgreementTest, ThePartnersAreFoundInAnyOrderAndSign) {
    const auto a = factors_of(1);
    auto b = factors_of(1);
    for (auto& factor : b) {
        for (Index i = 0; i < factor.rows(); ++i) std::swap(factor(i, 0), factor(i, 2));
        for (Index i = 0; i < factor.rows(); ++i) factor(i, 1) = -factor(i, 1);
    }
    for (Index i = 0; i < 30; ++i) b[0](i, 0) = -b[0](i, 0);
    const Agreement found = factor_agreement(a, b, 0);
    for (const double one : found.congruence) EXPECT_NEAR(one, 1, 1e-12);
    EXPECT_NEAR(found.corrected(), 1, 1e-12);
    EXPECT_NEAR(found.corrected_least(), 1, 1e-12);
    EXPECT_GT(found.chance, 0);
    EXPECT_LT(found.chance, 0.3);
}

TEST(AgreementTest, StrangersAgreeByChanceAlone) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        mean += factor_agreement(factors_of(100 + 2 * seed), factors_of(500 + 2 * seed), seed).corrected() / 20;
    }
    EXPECT_NEAR(mean, 0, 0.03);
}

TEST(AgreementTest, NonNegativeStrangersDoToo) {
    const auto positive = [](std::uint64_t seed) {
        auto factors = factors_of(seed);
        for (auto& factor : factors) {
            for (Index i = 0; i < factor.size(); ++i) factor.data()[i] = std::abs(factor.data()[i]);
        }
        return factors;
    };
    const Agreement found = factor_agreement(positive(1), positive(70), 3);
    EXPECT_GT(found.chance, 0.3) << "they are all alike";
    EXPECT_LT(found.corrected(), 0.3);
}

TEST(AgreementTest, SpacesAgreeWhateverTheirBasis) {
    const auto a = factors_of(9);
    auto turned = factors_of(9);
    const auto rotation = support::orthonormal_columns(3, 3, 5);
    for (auto& factor : turned) factor = support::naive_product(factor.view(), rotation.view());
    EXPECT_NEAR(space_agreement(a, turned).corrected(), 1, 1e-12);
    EXPECT_LT(space_agreement(a, factors_of(40)).corrected(), 0.3);
}

TEST(AgreementTest, RowsOfModelsAreComparedAsSpaces) {
    const auto site = merged(planted({60, 8, 7}, 3, 0.05, false, 3).x, 12);
    const auto pca = fit_factors(site.rows, {.model = FactorModel::pca, .components = 3});
    const auto cp = fit_factors(site.rows, {.model = FactorModel::cp, .components = 3});
    EXPECT_GT(row_agreement(pca.rows, cp.rows).corrected(), 0.99) << "both span what was planted";
    EXPECT_EQ(agreement(pca, pca, 0).congruence.size(), 1U);
    EXPECT_EQ(agreement(cp, cp, 0).congruence.size(), 3U);
}

TEST(AgreementTest, StartsThatFindTheSameAgree) {
    const auto site = merged(planted({80, 10, 9}, 3, 0.05, true, 3).x, 15);
    const auto cp = fit_factors(site.rows, {.model = FactorModel::cp, .components = 3, .starts = 3});
    const auto all = start_agreements(cp, 0);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_GT(all.front().corrected(), 0.98);
    EXPECT_TRUE(start_agreements(fit_factors(site.rows, {.model = FactorModel::pca, .components = 2}), 0).empty());
}

}  // namespace
}  // namespace couplet::testing
