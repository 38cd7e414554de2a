#include "couplet/ctt/coded_features.hpp"

#include <gtest/gtest.h>

#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/ctt/subspace.hpp"
#include "federations.hpp"
#include "weighted_train.hpp"

namespace couplet {
namespace {

Features features_of(const Tensor<double>& x) {
    JobOptions options;
    options.aggregate = Aggregate::subspace;
    options.rank = 6;
    options.sketch = Sketch::gram;
    SubspaceIteration iteration(resolve_job(options), Shape{x.shape()[1], x.shape()[2]});
    iteration.take(sketch_sum(x.view(), iteration.basis().view()).get());
    return iteration.features().clone();
}

TEST(CodedFeatures, LoseNoMoreThanTheyMayAndAreFewBytes) {
    const auto x = random_tensor<double>({50, 12, 11}, 4);
    const Features exact = features_of(x);
    const double all = refit(x.view(), exact).norm2;
    std::size_t last = 1 << 30;
    for (const double loss : {0.001, 0.01, 0.1}) {
        const Features coded = coded_features(exact, loss);
        ASSERT_TRUE(coded.code);
        EXPECT_TRUE(coded.orthonormal);
        const double more = refit(x.view(), coded).error2 - refit(x.view(), exact).error2;
        double weight2 = 0;
        for (const double sigma : exact.sigma) weight2 += sigma * sigma;
        EXPECT_LE(more, loss * loss * weight2 * (1 + 1e-9));
        EXPECT_GE(more, -1e-9 * all);
        EXPECT_LT(coded.code->bytes.size(), last);
        last = coded.code->bytes.size();
    }
    EXPECT_LT(last, static_cast<std::size_t>(exact.train.parameters()) * sizeof(double) / 8);
}

TEST(CodedFeatures, EverybodyDecodesTheSame) {
    const Features coded = coded_features(features_of(random_tensor<double>({30, 7, 9}, 1)), 0.01);
    const Features decoded = decode_features(coded.code);
    ASSERT_EQ(decoded.train.order(), coded.train.order());
    for (Index n = 0; n < decoded.train.order(); ++n) {
        const auto a = decoded.train.core(n);
        const auto b = coded.train.core(n);
        for (Index i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
    }
}

}  // namespace
}  // namespace couplet
