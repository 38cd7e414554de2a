#include "couplet/ctt/project.hpp"

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/merge.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

/// ||X - G W||^2 by definition.
double error2_of(const Tensor<double>& x, const Matrix<double>& personal, const TensorTrain<double>& features) {
    const auto model = naive_product(personal.view(), rows_of(features).view());
    const double distance = naive_distance(model.view(), x.view().unfold(1));
    return distance * distance;
}

TEST(ProjectTest, OrthonormalFeaturesGiveTheRefit) {
    const auto x = population_client({9, 4, 5}, 5, 0.6, 0.1, 2, 1);
    const FeatureBlock block(Matrix<double>::copy(x.view().unfold(1)), feature_modes(x.shape()));
    const FeatureBlock* one[] = {&block};
    const auto features = merge_dense(one, {.max_rank = 3}).features;
    const auto fit = project(features.train, x.view(), "x");
    const auto expected = refit(x.view(), features);
    EXPECT_EQ(naive_distance(fit.personal.view(), expected.personal.view()), 0.0);
    EXPECT_EQ(fit.rse, expected.error2 / expected.norm2);
}

/// For any features the core is that of least squares: its error is as stated, and moving it in any direction adds the
/// square of what it moved.
TEST(ProjectTest, AnyFeaturesGiveLeastSquares) {
    const auto x = population_client({9, 4, 5}, 5, 0.6, 0.3, 2, 1);
    const auto features = random_train<double>({4, 5}, {3, 4, 1}, 9);
    const auto fit = project(features, x.view(), "x");
    const double least = error2_of(x, fit.personal, features);
    EXPECT_NEAR(fit.rse, least / squared_norm(x.view().unfold(1)), 1e-10);
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto step = random_matrix<double>(fit.personal.rows(), fit.personal.cols(), seed);
        auto moved = Matrix<double>::copy(fit.personal.view());
        for (Index i = 0; i < moved.size(); ++i) moved.data()[i] += 0.1 * step.data()[i];
        EXPECT_GT(error2_of(x, moved, features), least);
    }
}

/// Patients of any magnitude get the same core, up to the magnitude, and the same error.
TEST(ProjectTest, DirectionsThatAreRoundingAreNoPartOfTheFeatures) {
    // Three rows that are multiples of one but for rounding.
    auto w = Matrix<double>::zeros(3, 20);
    Random random(5);
    for (Index j = 0; j < 20; ++j) {
        const double value = random.normal();
        for (Index i = 0; i < 3; ++i) w(i, j) = value * static_cast<double>(i + 1) * (1 + 1e-16 * random.normal());
    }
    const auto features = tt_svd(TensorView<const double>(w.data(), {3 * 4, 5}), {.eps = 0}).train;
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < features.order(); ++n) cores.push_back(Tensor<double>::copy(features.core(n)));
    const Index bond = cores[1].shape()[0];
    cores[0] = Tensor<double>({3, 4, bond}, std::move(cores[0]).release());
    const TensorTrain<double> train(std::move(cores));
    const auto x = population_client({9, 4, 5}, 5, 0.6, 0.3, 2, 1);
    const double norm2 = squared_norm(x.view().unfold(1));
    for (const bool incomplete : {false, true}) {
        const auto fit = incomplete ? project_incomplete(train, x.view(), "x") : project(train, x.view(), "x");
        EXPECT_NEAR(error2_of(x, fit.personal, train) / norm2, fit.rse, 1e-9) << incomplete;
        EXPECT_LT(max_magnitude<double>(fit.personal.view()), 1e3 * std::sqrt(norm2)) << incomplete;
    }
}

TEST(ProjectTest, MagnitudesDoNotMatter) {
    const auto x = population_client({9, 4, 5}, 5, 0.6, 0.3, 2, 1);
    const auto features = random_train<double>({4, 5}, {3, 4, 1}, 9);
    const auto plain = project(features, x.view(), "x");
    for (const int exponent : {-600, 600}) {
        auto far = Tensor<double>::copy(x.view());
        for (double& value : far.elements()) value = std::ldexp(value, exponent);
        const auto fit = project(features, far.view(), "x");
        EXPECT_NEAR(fit.rse, plain.rse, 1e-12);
        for (Index i = 0; i < fit.personal.size(); ++i) {
            EXPECT_NEAR(std::ldexp(fit.personal.data()[i], -exponent), plain.personal.data()[i], 1e-10);
        }
    }
    const auto zeros = project(features, Tensor<double>::zeros({2, 4, 5}).view(), "x");
    EXPECT_EQ(zeros.rse, 0);
    EXPECT_EQ(naive_norm(zeros.personal.view()), 0);
}

/// A core of denormal numbers is rounded by more than the error that is told of it.
TEST(ProjectTest, RefusesDenormalData) {
    auto x = population_client({9, 4, 5}, 5, 0.6, 0.3, 2, 1);
    const auto features = random_train<double>({4, 5}, {3, 4, 1}, 9);
    double largest = 0;
    for (const double value : x.elements()) largest = std::max(largest, std::abs(value));
    const auto scaled = [&](double factor) {
        auto y = Tensor<double>::copy(x.view());
        for (double& value : y.elements()) value *= factor / largest;
        return y;
    };
    for (const double tiny : {1e-309, 1e-320}) {
        EXPECT_THROW(project(features, scaled(tiny).view(), "x"), InputError) << tiny;
        EXPECT_THROW(project_incomplete(features, scaled(tiny).view(), "x"), InputError) << tiny;
    }
    EXPECT_NEAR(project(features, scaled(2.3e-308).view(), "x").rse, project(features, x.view(), "x").rse, 1e-12);
    EXPECT_EQ(project(features, scaled(0).view(), "x").rse, 0);
}

TEST(ProjectTest, RefusesWhatIsNoNumber) {
    auto x = population_client({9, 4, 5}, 5, 0.6, 0.3, 2, 1);
    x.data()[7] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(project(random_train<double>({4, 5}, {3, 4, 1}, 9), x.view(), "x"), InputError);
}

TEST(ProjectTest, RefusesOtherFeatureModes) {
    const auto features = random_train<double>({4, 5}, {3, 4, 1}, 9);
    EXPECT_THROW(project(features, population_client({9, 5, 4}, 5, 0.6, 0.3, 2, 1).view(), "x"), InputError);
}

}  // namespace
}  // namespace couplet
