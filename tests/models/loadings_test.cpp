#include "couplet/models/loadings.hpp"

#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "matrices.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(LoadingsTest, NonNegativeLeastSquaresMeetsItsConditions) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const auto w = support::random_matrix<double>(7, 12, seed);
        const auto x = support::random_matrix<double>(150, 12, 10 + seed);
        const auto gram = support::naive_product(w.view(), w.view(), Op::none, Op::transpose);
        const auto products = support::naive_product(x.view(), w.view(), Op::none, Op::transpose);
        const auto y = non_negative_least_squares(products.view(), gram.view());
        Index zeros = 0;
        for (Index i = 0; i < y.rows(); ++i) {
            for (Index r = 0; r < 7; ++r) {
                double gradient = products(i, r);
                for (Index s = 0; s < 7; ++s) gradient -= y(i, s) * gram(s, r);
                ASSERT_GE(y(i, r), 0);
                if (y(i, r) > 0) {
                    EXPECT_NEAR(gradient, 0, 1e-9);
                } else {
                    EXPECT_LE(gradient, 1e-9);
                    ++zeros;
                }
            }
        }
        EXPECT_GT(zeros, 100) << "the bound is felt";
    }
}

TEST(LoadingsTest, AlikeComponentsDoNotDivide) {
    Matrix<double> gram(2, 2);
    for (Index i = 0; i < 4; ++i) gram.data()[i] = 1;
    Matrix<double> products(1, 2);
    products(0, 0) = products(0, 1) = 2;
    const auto y = non_negative_least_squares(products.view(), gram.view());
    EXPECT_NEAR(y(0, 0) + y(0, 1), 2, 1e-12);
    const auto nothing = non_negative_least_squares(products.view(), Matrix<double>::zeros(2, 2).view());
    EXPECT_EQ(nothing(0, 0), 0);
}

TEST(LoadingsTest, TheErrorIsWhatIsLeft) {
    const auto made = planted({50, 7, 6}, 3, 0.3, true, 67);
    const auto fit = fit_factors(merged(made.x, 20).rows, {.model = FactorModel::nncp, .components = 3});
    const auto rows = fit.rows.full();
    for (const bool positive : {false, true}) {
        const auto found = fit_loadings(fit.rows, made.x.view(), positive, "x");
        auto rest = Matrix<double>::copy(made.x.view().unfold(1));
        multiply<double>(found.values.view(), Op::none, {rows.data(), 3, 42}, Op::none, rest.view(), -1.0, 1.0);
        EXPECT_NEAR(found.error2, squared_norm<double>(rest.view()), 1e-8 * found.norm2) << positive;
    }
}

TEST(LoadingsTest, AnyMagnitudeAndNoPatients) {
    const auto made = planted({20, 5, 4}, 2, 0.1, true, 71);
    const auto fit = fit_factors(merged(made.x, 8).rows, {.model = FactorModel::nncp, .components = 2});
    const auto usual = fit_loadings(fit.rows, made.x.view(), true, "x");
    auto large = Tensor<double>::copy(made.x.view());
    for (double& value : large.elements()) value = std::ldexp(value, 100);
    const auto found = fit_loadings(fit.rows, large.view(), true, "x");
    EXPECT_EQ(found.values(0, 0), std::ldexp(usual.values(0, 0), 100));
    const auto nobody = fit_loadings(fit.rows, Tensor<double>({0, 5, 4}).view(), true, "x");
    EXPECT_EQ(nobody.values.rows(), 0);
    EXPECT_EQ(nobody.norm2, 0);
}

TEST(LoadingsTest, OtherModesAndGapsAreRefused) {
    const auto made = planted({20, 5, 4}, 2, 0.1, true, 71);
    const auto fit = fit_factors(merged(made.x, 8).rows, {.model = FactorModel::cp, .components = 2});
    EXPECT_THROW(fit_loadings(fit.rows, Tensor<double>::zeros({3, 4, 5}).view(), false, "x"), InputError);
    auto gap = Tensor<double>::copy(made.x.view());
    gap.data()[3] = std::nan("");
    EXPECT_THROW(fit_loadings(fit.rows, gap.view(), true, "x"), InputError);
    EXPECT_THROW(fit_loadings(fit.rows, gap.view(), false, "x"), InputError);
}

}  // namespace
}  // namespace couplet::testing
