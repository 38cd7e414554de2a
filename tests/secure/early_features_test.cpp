#include "couplet/secure/early_features.hpp"

#include "secure_test_support.hpp"

namespace couplet {
namespace {

TEST(EarlyFeatures, OfOneBlockAreNearlyThoseOfAllSums) {
    const auto clients = support::population(3, {40, 9, 8}, 6, 0.6, 0.01);
    const Job job = subspace_job(4);
    const Shape features{9, 8};
    const SubspaceIteration iteration(job, features);
    Matrix<double> y = Matrix<double>::zeros(72, iteration.basis().cols());
    for (const auto& x : clients) {
        const auto one = sketch_sum(x.view(), iteration.basis().view());
        for (Index i = 0; i < y.size(); ++i) y.data()[i] += one.get()[static_cast<std::size_t>(i)];
    }
    const Features early = features_from_block(job, features, iteration.basis(), y);
    EXPECT_EQ(early.train.ranks().front(), 4);
    const auto exact = plain(clients, {0, 1, 2}, job);
    EXPECT_LT(projector_distance(*exact.features, early), 0.02);
}

TEST(EarlyFeatures, OfDataOfLowRankAreExact) {
    const auto clients = support::population(3, {40, 9, 8}, 4, 0.8, 0);
    const Job job = subspace_job(4);
    const SubspaceIteration iteration(job, {9, 8});
    Matrix<double> y = Matrix<double>::zeros(72, iteration.basis().cols());
    for (const auto& x : clients) {
        const auto one = sketch_sum(x.view(), iteration.basis().view());
        for (Index i = 0; i < y.size(); ++i) y.data()[i] += one.get()[static_cast<std::size_t>(i)];
    }
    const auto exact = plain(clients, {0, 1, 2}, job);
    EXPECT_LT(projector_distance(*exact.features, features_from_block(job, {9, 8}, iteration.basis(), y)), 1e-6);
    Job wider = job;
    wider.rank = 9;
    const Features all = features_from_block(wider, {9, 8}, iteration.basis(), y);
    EXPECT_EQ(all.train.left_rank(), 4);
}

}  // namespace
}  // namespace couplet
