#include <utility>

#include "cores.hpp"
#include "couplet/models/agreement.hpp"
#include "couplet/models/loadings.hpp"
#include "cp.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

/// The squared error that patients make with non-negative loadings is at least what the fit says no patients can go
/// below, and hardly more where their data is a non-negative CP.
TEST(BuresTest, TheObjectiveIsBelowWhatPatientsReach) {
    const auto made = planted({120, 9, 8}, 4, 0.1, true, 43);
    const auto site = merged(made.x, 40);
    auto fit = fit_nonnegative_cp(cores_of(site.rows), {.components = 4}, 0);
    fit.factors.erase(fit.factors.begin());
    const auto whole = fit_factors(site.rows, {.model = FactorModel::nncp, .components = 4, .starts = 1});
    const auto loadings = fit_loadings(whole.rows, made.x.view(), true, "x");
    const double reached = loadings.error2 / loadings.norm2;
    EXPECT_LE(fit.objective * (1 - site.bound * site.bound), reached + 1e-9);
    EXPECT_NEAR(reached, fit.objective + site.bound * site.bound, 0.01);
}

/// With free loadings the best non-negative factors of these patients subtract; patients cannot.
TEST(BuresTest, FactorsAreOnesThatPatientsCanAddUp) {
    double free_ratio = 0;
    double ratio = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
        // All patients have the common part, and more or less of two others.
        const auto made = planted({100, 12, 10}, 5, 0.3, true, 50 + seed);
        const auto site = merged(made.x, 30);
        const auto nn = fit_factors(site.rows, {.model = FactorModel::nncp, .components = 3, .starts = 4});
        const auto fitted = fit_loadings(nn.rows, made.x.view(), true, "x");
        const auto freely = fit_loadings(nn.rows, made.x.view(), false, "x");
        EXPECT_LE(freely.error2, fitted.error2 * (1 + 1e-9));
        ratio += fitted.error2 / freely.error2 / 3;
        free_ratio += fitted.error2 / fitted.norm2 / 3;
    }
    EXPECT_LT(ratio, 1.1) << "free loadings gain next to nothing";
    EXPECT_LT(free_ratio, 0.6);
}

TEST(BuresTest, NothingNegativeAndNormOne) {
    const auto site = merged(planted({60, 8, 6}, 4, 0.5, false, 47).x, 20);
    const auto fit = fit_nonnegative_cp(cores_of(site.rows), {.components = 5, .sweeps = 100}, 1);
    for (std::size_t n = 1; n < fit.factors.size(); ++n) {
        for (Index i = 0; i < fit.factors[n].size(); ++i) EXPECT_GE(fit.factors[n].data()[i], 0);
    }
    EXPECT_GE(fit.objective, 0);
    EXPECT_LE(fit.objective, 1);
}

}  // namespace
}  // namespace couplet::testing
