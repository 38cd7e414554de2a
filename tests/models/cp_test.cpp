#include "cp.hpp"

#include <utility>

#include "cores.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(CpTest, TheObjectiveIsTheErrorThatTheFactorsLeave) {
    const auto site = merged(planted({40, 6, 5}, 5, 0.3, false, 31).x, 12);
    const auto cores = cores_of(site.rows);
    const auto fit = fit_cp(cores, {.components = 3, .sweeps = 60}, 1);
    const auto s = TensorTrain<double>([&] {
                       std::vector<Tensor<double>> copy;
                       for (const auto& core : cores) copy.push_back(Tensor<double>::copy(core.view()));
                       return copy;
                   }())
                       .full();
    double error2 = 0;
    for (Index at = 0; at < s.size(); ++at) {
        const auto index = s.shape().indices(at);
        double value = s.data()[at];
        for (Index r = 0; r < 3; ++r) {
            value -= fit.factors[0](index[0], r) * fit.factors[1](index[1], r) * fit.factors[2](index[2], r);
        }
        error2 += value * value;
    }
    EXPECT_NEAR(fit.objective, error2, 1e-8);
}

TEST(CpTest, MoreSweepsNeverFitWorse) {
    const auto cores = cores_of(merged(planted({50, 8, 7}, 6, 0.4, false, 37).x, 15).rows);
    double before = 1;
    for (const Index sweeps : {1, 2, 3, 5, 8, 20, 80}) {
        const auto fit = fit_cp(cores, {.components = 4, .sweeps = sweeps}, 2);
        EXPECT_LE(fit.objective, before);
        before = fit.objective;
    }
}

TEST(CpTest, StartsDifferAndTheSeedDecides) {
    const auto cores = cores_of(merged(planted({30, 6, 5}, 4, 0.5, false, 41).x, 10).rows);
    const auto start = [&](std::uint64_t seed, std::uint64_t number) {
        return random_factors(cores, 2, false, {.seed = seed}, number)[1](0, 0);
    };
    EXPECT_EQ(start(1, 0), start(1, 0));
    EXPECT_NE(start(1, 0), start(1, 1));
    EXPECT_NE(start(1, 0), start(2, 0));
    const auto positive = random_factors(cores, 2, true, {}, 0);
    for (const auto& factor : positive) {
        for (Index i = 0; i < factor.size(); ++i) EXPECT_GE(factor.data()[i], 0);
    }
}

TEST(CpTest, ThePairThatCancelsIsNamed) {
    std::vector<Matrix<double>> factors;
    for (int n = 0; n < 3; ++n) {
        auto factor = Matrix<double>::zeros(2, 3);
        factor(0, 0) = 1;
        factor(1, 1) = 1;
        factor(0, 2) = 1;
        factor(1, 2) = 0.01;
        factors.push_back(std::move(factor));
    }
    for (Index i = 0; i < 2; ++i) {
        factors[0](i, 0) *= 10;
        factors[0](i, 2) *= -10;
    }
    const Cancelling pair = cancelling_pair(factors);
    EXPECT_EQ(pair.first, 0);
    EXPECT_EQ(pair.second, 2);
    EXPECT_NEAR(pair.congruence, -1, 1e-3);
    EXPECT_GT(pair.growth, 50);
}

TEST(CpTest, ZeroColumnsStayZero) {
    Matrix<double> factor = Matrix<double>::zeros(3, 2);
    factor(1, 0) = -4;
    EXPECT_EQ(normalise_columns(factor), (std::vector<double>{4, 0}));
    EXPECT_EQ(factor(1, 0), -1);
    EXPECT_EQ(factor(1, 1), 0);
}

}  // namespace
}  // namespace couplet::testing
