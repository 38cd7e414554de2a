#include "couplet/experiments/logistic.hpp"

#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

/// Loss that the model minimises, at the model's own probabilities.
double mean_loss(const LogisticModel& model, const Matrix<double>& x, const std::vector<Label>& labels) {
    const auto p = model.probabilities(x.view());
    double loss = 0;
    for (Index i = 0; i < x.rows(); ++i) {
        const auto& classes = model.classes();
        const auto at =
            std::find(classes.begin(), classes.end(), labels[static_cast<std::size_t>(i)]) - classes.begin();
        loss -= std::log(p(i, at)) / static_cast<double>(x.rows());
    }
    return loss;
}

TEST(LogisticTest, InterceptsAloneGiveTheFrequencies) {
    // A constant column says nothing: the probabilities are the parts of the classes.
    Matrix<double> x(4, 1);
    for (Index i = 0; i < 4; ++i) x(i, 0) = 5;
    const LogisticModel model(x, std::vector<Label>{2, 2, 2, 9}, {.tolerance = 1e-10});
    EXPECT_EQ(model.classes(), (std::vector<Label>{2, 9}));
    const auto p = model.probabilities(x);
    EXPECT_NEAR(p(0, 0), 0.75, 1e-6);
    EXPECT_NEAR(p(0, 1), 0.25, 1e-6);
}

TEST(LogisticTest, TwoPointsHaveTheHandComputedMinimum) {
    // x = -1, 1 are standardised already. By symmetry w = (-a, a) and no intercepts; the gradient vanishes where
    // 1/(1 + exp(2a)) = ridge a.
    Matrix<double> x(2, 1);
    x(0, 0) = -1;
    x(1, 0) = 1;
    const double ridge = 0.1;
    double a = 1;
    for (int i = 0; i < 200; ++i) a -= (ridge * a - 1 / (1 + std::exp(2 * a))) / (ridge + 0.5);
    const LogisticModel model(x, std::vector<Label>{0, 1}, {.ridge = ridge, .tolerance = 1e-12});
    EXPECT_NEAR(model.probabilities(x)(1, 1), 1 / (1 + std::exp(-2 * a)), 1e-9);
    EXPECT_EQ(model.classify(x), (std::vector<Label>{0, 1}));
}

TEST(LogisticTest, SeparatesThreeClustersAndStops) {
    auto x = support::random_matrix<double>(90, 2, 3);
    std::vector<Label> labels;
    for (Index i = 0; i < 90; ++i) {
        const Label label = i % 3;
        x(i, 0) += label == 1 ? 12 : 0;
        x(i, 1) += label == 2 ? 12 : 0;
        labels.push_back(label - 1);
    }
    const LogisticModel model(x, labels);
    EXPECT_EQ(accuracy(labels, model.classify(x)), 1);
    EXPECT_LT(model.iterations(), 2000);
    const auto p = model.probabilities(x);
    for (Index i = 0; i < 90; ++i) EXPECT_NEAR(p(i, 0) + p(i, 1) + p(i, 2), 1, 1e-12);
}

TEST(LogisticTest, MoreIterationsNeverFitWorseAndScaleDoesNotMatter) {
    auto x = support::random_matrix<double>(60, 4, 5);
    std::vector<Label> labels;
    for (Index i = 0; i < 60; ++i) labels.push_back(x(i, 0) + 0.5 * x(i, 1) > 0.2 ? 1 : 0);
    const LogisticModel rough(x, labels, {.max_iterations = 20});
    const LogisticModel fine(x, labels);
    EXPECT_LE(mean_loss(fine, x, labels), mean_loss(rough, x, labels) + 1e-9);
    auto scaled = Matrix<double>::copy(x.view());
    for (Index i = 0; i < 60; ++i) scaled(i, 2) = 1e6 * scaled(i, 2) - 3;
    const LogisticModel other(scaled, labels);
    EXPECT_NEAR(mean_loss(other, scaled, labels), mean_loss(fine, x, labels), 1e-9);
}

TEST(LogisticTest, RefusesWhatDoesNotFit) {
    const auto x = support::random_matrix<double>(4, 2);
    EXPECT_THROW(LogisticModel(x, std::vector<Label>{0, 1}), InputError);
    EXPECT_THROW(LogisticModel(x, std::vector<Label>{0, 1, 0, 1}, {.ridge = 0}), InputError);
    const LogisticModel model(x, std::vector<Label>{0, 1, 0, 1});
    EXPECT_THROW(model.classify(support::random_matrix<double>(4, 3).view()), InputError);
}

TEST(LogisticTest, CoefficientsAreThoseOfScikitLearn) {
    // sklearn 1.9.1, LogisticRegression(C=1/(0.05 n), tol=1e-14, solver="newton-cg") on the standardised columns of
    // x = sin(1.7 i + 2.3 j^2 + 0.4 i j), y = (i^2 + i // 3) % 3, x[:, 0] += 0.8 (y == 1), x[:, 1] *= 5.
    constexpr Index people = 40;
    Matrix<double> x(people, 3);
    std::vector<Label> labels;
    for (Index i = 0; i < people; ++i) {
        labels.push_back((i * i + i / 3) % 3);
        const auto a = static_cast<double>(i);
        for (Index j = 0; j < 3; ++j) {
            const auto b = static_cast<double>(j);
            x(i, j) = std::sin(1.7 * a + 2.3 * b * b + 0.4 * a * b);
        }
        x(i, 0) += labels.back() == 1 ? 0.8 : 0;
        x(i, 1) *= 5;
    }
    const double expected[3][3] = {{-0.3003814206, 0.0259968561, 0.0478749341},
                                   {0.6597882836, 0.0362787736, -0.0072414273},
                                   {-0.359406863, -0.0622756297, -0.0406335068}};
    const LogisticModel model(x, labels, {.ridge = 0.05, .tolerance = 1e-11});
    for (Index c = 0; c < 3; ++c) {
        for (Index j = 0; j < 3; ++j) EXPECT_NEAR(model.weights()(j, c), expected[c][j], 1e-9);
    }
    EXPECT_NEAR(model.probabilities(x)(0, 0), 0.3962493465, 1e-9);
    EXPECT_LT(model.iterations(), 100);
}

TEST(LogisticTest, HugeValuesAndRoundingDoNoHarm) {
    // Columns of 1e160 count as any other; one that varies by rounding alone is constant.
    auto x = support::random_matrix<double>(50, 2, 8);
    std::vector<Label> labels;
    for (Index i = 0; i < 50; ++i) labels.push_back(x(i, 0) > 0 ? 1 : 0);
    const LogisticModel usual(x, labels);
    auto huge = Matrix<double>(50, 3);
    for (Index i = 0; i < 50; ++i) {
        huge(i, 0) = 1e160 * x(i, 0);
        huge(i, 1) = 1e-170 * x(i, 1);
        huge(i, 2) = 0.1 * (1 + (i % 2 == 0 ? 0 : 2e-16));
    }
    const LogisticModel model(huge, labels);
    for (Index i = 0; i < 50; ++i) {
        EXPECT_NEAR(model.probabilities(huge)(i, 1), usual.probabilities(x)(i, 1), 1e-4);
    }
    EXPECT_EQ(model.weights()(2, 0), 0);
}

TEST(LogisticTest, SeparableClassesStayFinite) {
    Matrix<double> x(6, 1);
    for (Index i = 0; i < 6; ++i) x(i, 0) = static_cast<double>(i);
    const LogisticModel model(x, std::vector<Label>{0, 0, 0, 1, 1, 1}, {.ridge = 1e-6, .tolerance = 1e-10});
    EXPECT_TRUE(std::isfinite(model.weights()(0, 0)));
    EXPECT_LT(model.iterations(), 500);
    EXPECT_GT(model.probabilities(x)(5, 1), 0.999);
}

}  // namespace
}  // namespace couplet
