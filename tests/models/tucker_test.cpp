#include "tucker.hpp"

#include <cmath>
#include <utility>

#include "cores.hpp"
#include "couplet/linalg/eigen.hpp"
#include "matrices.hpp"
#include "models_test_support.hpp"
#include "plain.hpp"

namespace couplet::testing {
namespace {

TEST(TuckerTest, TheErrorIsThatOfTheProjection) {
    const auto cores = cores_of(merged(planted({50, 8, 7, 5}, 6, 0.4, false, 53).x, 20).rows);
    const auto fit = fit_tucker(cores, {4, 3, 3, 2}, {}, 0);
    EXPECT_TRUE(fit.converged);
    for (const auto& basis : fit.bases) EXPECT_LT(support::orthonormality_residual(basis.view()), 200);
    const auto core = tucker_core(cores, fit.bases);
    EXPECT_EQ(core.shape(), Shape({4, 3, 3, 2}));
    EXPECT_NEAR(fit.error2, 1 - squared_norm<double>(std::as_const(core).view().unfold(1)), 1e-9);
}

/// At ranks that cut one mode alone the best basis is that of its leading singular vectors.
TEST(TuckerTest, OneModeIsCutAsItsSvd) {
    const auto cores = cores_of(merged(planted({50, 8, 5}, 6, 0.5, false, 59).x, 12).rows);
    const Index rows = cores[0].shape()[1];
    const auto fit = fit_tucker(cores, {rows, 3, 5}, {.tolerance = 1e-14}, 0);
    std::vector<Tensor<double>> copy;
    for (const auto& core : cores) copy.push_back(Tensor<double>::copy(core.view()));
    const auto s = TensorTrain<double>(std::move(copy)).full();
    auto unfolded = Matrix<double>::zeros(8, rows * 5);
    for (Index a = 0; a < rows; ++a) {
        for (Index i = 0; i < 8; ++i) {
            for (Index j = 0; j < 5; ++j) unfolded(i, a * 5 + j) = s.data()[(a * 8 + i) * 5 + j];
        }
    }
    const auto eigen = symmetric_eigen(gram<double>(unfolded.view(), Side::left).view());
    double rest = 0;
    for (std::size_t i = 3; i < eigen.values.size(); ++i) rest += eigen.values[i];
    EXPECT_NEAR(fit.error2, rest, 1e-8);
}

TEST(TuckerTest, AWholeModeIsLeftAsItIs) {
    const auto cores = cores_of(merged(planted({30, 4, 3}, 3, 0.2, false, 61).x, 8).rows);
    const auto fit = fit_tucker(cores, {8, 4, 3}, {}, 0);
    EXPECT_NEAR(fit.error2, 0, 1e-12);
}

}  // namespace
}  // namespace couplet::testing
