#include "couplet/ctt/refit.hpp"

#include "couplet/core/error.hpp"
#include "couplet/ctt/merge.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

Features features_of(const Tensor<double>& x, Index rank) {
    const FeatureBlock block(Matrix<double>::copy(x.view().unfold(1)), feature_modes(x.shape()));
    const FeatureBlock* one[] = {&block};
    return merge_dense(one, {.max_rank = rank}).features;
}

TEST(RefitTest, ProjectsByDefinition) {
    // Large and small inner ranks take the dense and the contraction route.
    for (const Shape& shape :
         {Shape{9, 7}, Shape{9, 4, 5}, Shape{30, 2, 9}, Shape{6, 3, 4, 5}, Shape{1, 8, 8}, Shape{5, 2, 3, 2, 3}}) {
        for (const Index rank : {1, 3, 6}) {
            const auto x = population_client(shape, 5, 0.6, 0.1, 2, 1);
            const auto features = features_of(population_client(shape, 5, 0.6, 0.1, 2, 2), rank);
            const auto fit = refit(x.view(), features);
            const auto w = rows_of(features.train);
            const auto expected = naive_product(x.view().unfold(1), w.view(), Op::none, Op::transpose);
            EXPECT_LT(naive_distance(expected.view(), fit.personal.view()), 1e-11) << shape.to_string();
            EXPECT_NEAR(fit.norm2, squared_norm(x.view().unfold(1)), 1e-10);
            EXPECT_NEAR(fit.error2, naive_refit_error2(x, features), 1e-11 * fit.norm2);
        }
    }
}

TEST(RefitTest, MeasuresErrorsThatTheNormsCannotShow) {
    const auto base = population_client({8, 5, 6}, 3, 0.7, 0, 5, 1);
    const auto features = features_of(base, 3);
    for (const double noise : {1e-7, 1e-9, 1e-11}) {
        auto x = Tensor<double>::copy(base.view());
        const auto e = random_tensor<double>(x.shape(), 4, noise);
        for (Index i = 0; i < x.size(); ++i) x.data()[i] += e.data()[i];
        const auto fit = refit(x.view(), features);
        EXPECT_NEAR(std::sqrt(fit.error2), std::sqrt(naive_refit_error2(x, features)), 1e-3 * noise * 15);
        EXPECT_GT(fit.error2, 0.5 * noise * noise * 240 * 0.5);
    }
}

TEST(RefitTest, NeverIncreasesTheErrorOfAnyPersonalCore) {
    const auto x = population_client({10, 5, 6}, 5, 0.8, 0.2, 6, 1);
    const auto step = average_client(x.view(), 3, 0.0);
    const Features weighted{random_train<double>({5, 6}, {3, 3, 1}, 9), {}, false};
    const double fixed2 = fixed_error2(x.view(), step.weighted, weighted);
    // By definition, ||X - U W||^2.
    const auto uw = naive_product(step.personal.view(), weighted.train.full().view().unfold(1));
    const double distance = naive_distance(uw.view(), x.view().unfold(1));
    EXPECT_NEAR(fixed2, distance * distance, 1e-10 * fixed2);
    EXPECT_LE(refit(x.view(), orthonormal_features(weighted.train)).error2, fixed2);
}

TEST(RefitTest, OrthonormalFeaturesKeepRowSpaceAndWeights) {
    for (const auto& sizes : {std::vector<Index>{9}, {4, 5}, {3, 4, 3}}) {
        auto bonds = inner_ranks(sizes.size(), 3);
        bonds.front() = 4;
        const auto train = random_train<double>(sizes, bonds, 3);
        const auto features = orthonormal_features(train);
        const auto w = train.full();
        EXPECT_LT(naive_refit_error2(w, features), 1e-20 * squared_norm(w.view().unfold(1)));
        EXPECT_LT(claimed_orthogonality_residual(features.train), 100);
        const auto svd = reference::svd(w.view().unfold(1));
        for (std::size_t i = 0; i < features.sigma.size(); ++i) {
            EXPECT_NEAR(features.sigma[i], svd.sigma[i], 1e-11 * svd.sigma[0]);
        }
    }
}

TEST(RefitTest, ZeroTensorHasNoError) {
    const auto features = features_of(random_tensor<double>({4, 3, 3}), 2);
    const auto fit = refit(Tensor<double>::zeros({3, 3, 3}).view(), features);
    EXPECT_EQ(fit.error2, 0);
    EXPECT_EQ(fit.norm2, 0);
}

TEST(RefitTest, RefusesFeaturesOfOtherModes) {
    const auto features = features_of(random_tensor<double>({4, 3, 4}), 2);
    const auto refused = [&](const Shape& shape) {
        return message_of([&] { refit(random_tensor<double>(shape).view(), features); });
    };
    EXPECT_EQ(refused({4, 4, 3}), "features: modes 3x4; expected those of the tensor 4x4x3 after the first");
    EXPECT_EQ(refused({4, 12}), "features: modes 3x4; expected those of the tensor 4x12 after the first");
    EXPECT_EQ(refused({3, 4}), "features: modes 3x4; expected those of the tensor 3x4 after the first");
    EXPECT_EQ(refused({2, 3, 4}), "");
    const auto x = random_tensor<double>({4, 3, 4});
    EXPECT_EQ(message_of([&] { fixed_error2(x.view(), Matrix<double>::zeros(3, 12), features); }),
              "features: rank 2; expected 3 as the personal core");
    EXPECT_EQ(message_of([&] {
                  fixed_error2(random_tensor<double>({4, 4, 3}).view(), Matrix<double>::zeros(2, 12), features);
              }),
              "features: modes 3x4; expected those of the tensor 4x4x3 after the first");
}

TEST(RefitTest, ANormThatIsGivenIsNotMeasuredAgain) {
    const auto x = population_client({8, 5, 6}, 5, 0.8, 0.3, 5, 1);
    const auto features = features_of(population_client({8, 5, 6}, 5, 0.8, 0.3, 5, 2), 2);
    const double norm2 = squared_norm(x.view().unfold(1));
    const auto plain = refit(x.view(), features);
    const auto given = refit(x.view(), features, 2 * norm2);
    EXPECT_EQ(given.norm2, 2 * norm2);
    EXPECT_NEAR(given.error2, plain.error2 + norm2, 1e-10 * norm2);
    EXPECT_TRUE(same_bits<double>(given.personal.view(), plain.personal.view()));
}

TEST(RefitTest, ErrorsOnBothSidesOfTheSwitchToTheResidualAreRight) {
    // Around a millionth of the squares, where the residual takes over, on both routes of the product.
    for (const Shape& shape : {Shape{8, 5, 6}, Shape{200, 3, 4}, Shape{4, 40}}) {
        const auto base = population_client(shape, 3, 0.7, 0, 5, 1);
        const auto features = features_of(base, 3);
        const double norm = naive_norm(base.view().unfold(1));
        for (const double relative : {3e-2, 2e-3, 1.1e-3, 0.9e-3, 5e-4, 1e-5, 1e-8}) {
            auto x = Tensor<double>::copy(base.view());
            const auto e = random_tensor<double>(shape, 4, relative * norm / std::sqrt(static_cast<double>(x.size())));
            for (Index i = 0; i < x.size(); ++i) x.data()[i] += e.data()[i];
            const auto fit = refit(x.view(), features);
            const double expected = naive_refit_error2(x, features);
            EXPECT_NEAR(fit.error2, expected, 1e-9 * expected + 1e-15 * norm * norm * relative) << relative;
        }
    }
}

}  // namespace
}  // namespace couplet
