#include "couplet/audit/views.hpp"

#include <gtest/gtest.h>

#include "audit_test_support.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

using testing::choose;
using testing::ranked_job;
using testing::sparse_patients;

double moment_error(const Matrix<double>& rows, const testing::People& people, const std::vector<Index>& clients) {
    const Index p = rows.cols();
    auto truth = Matrix<double>::zeros(p, p);
    for (const Index k : clients) {
        const auto g = gram<double>(people.clients[static_cast<std::size_t>(k)].view().unfold(1), Side::right);
        for (Index i = 0; i < g.size(); ++i) truth.data()[i] += g.data()[i];
    }
    auto seen = gram<double>(rows.view(), Side::right);
    const double whole = squared_norm<double>(truth.view());
    for (Index i = 0; i < seen.size(); ++i) seen.data()[i] -= truth.data()[i];
    return std::sqrt(squared_norm<double>(seen.view()) / whole);
}

Job sums_job(Index rank, int passes, Sketch sketch) {
    Job job = ranked_job(rank, 3);
    job.aggregate = Aggregate::subspace;
    job.passes = passes;
    job.sketch = sketch;
    return job;
}

TEST(StackMessage, IsWhatTheReceiverDecodes) {
    const auto people = choose(sparse_patients(30, 6, 8, 1), 2, 12, 2);
    // At full rank and a hundredth of error the second moment is there to a hundredth or so, and not exactly.
    const auto rows = stack_message(people.views()[0], ranked_job(12), people.views());
    EXPECT_EQ(rows.rows(), 12);
    const double error = moment_error(rows, people, {0});
    EXPECT_LT(error, 0.02);
    EXPECT_GT(error, 1e-9);
}

TEST(AverageMessage, HasTheRankOfTheJob) {
    const auto people = choose(sparse_patients(30, 6, 8, 1), 2, 12, 2);
    Job job = ranked_job(5);
    job.eps1 = 0;
    const auto rows = average_message(people.views()[1], job);
    EXPECT_EQ(rows.rows(), 5);
}

TEST(StackFeatures, AreWeightedByWhatTheyKeep) {
    const auto people = choose(sparse_patients(30, 6, 8, 1), 2, 12, 2);
    Job job = ranked_job(24);
    job.precision = Precision::f64;
    job.eps1 = job.eps2 = 0;
    EXPECT_LT(moment_error(stack_features(people.views(), job), people, {0, 1}), 1e-6);
}

TEST(SumTranscript, ShowsEverythingOnceThereAreAsManyDirectionsAsPatients) {
    const auto people = choose(sparse_patients(40, 6, 8, 4), 3, 6, 5);
    for (const Sketch sketch : {Sketch::random, Sketch::gram}) {
        const SumTranscript sums(people.views(), sums_job(4, 2, sketch));
        EXPECT_EQ(sums.directions(), sketch == Sketch::gram ? 48 : 28);
        EXPECT_LT(moment_error(sums.shown({0, 1, 2}), people, {0, 1, 2}), 1e-5);
        EXPECT_LT(moment_error(sums.shown({1}), people, {1}), 1e-5);
        EXPECT_LT(moment_error(sums.shown({0, 2}), people, {0, 2}), 1e-5);
    }
}

TEST(SumTranscript, ShowsNoMoreDirectionsThanWereAsked) {
    const auto people = choose(sparse_patients(60, 6, 8, 4), 3, 15, 5);
    const SumTranscript sums(people.views(), sums_job(4, 1, Sketch::random));
    EXPECT_EQ(sums.shown({0, 1, 2}).rows(), 14);
    EXPECT_GT(moment_error(sums.shown({0, 1, 2}), people, {0, 1, 2}), 0.05);
    EXPECT_EQ(sums.features().rows(), 4);
}

TEST(SumTranscript, NoiseHidesWhatItCovers) {
    const auto people = choose(sparse_patients(60, 6, 8, 4), 3, 15, 5);
    const auto with = [&](double sigma) {
        const SumTranscript sums(people.views(), sums_job(4, 2, Sketch::gram), SumNoise{sigma, 1});
        return moment_error(sums.shown({0, 1, 2}), people, {0, 1, 2});
    };
    EXPECT_LT(with(1e-3), 0.02);
    EXPECT_GT(with(10), 0.5);
}

}  // namespace
}  // namespace couplet
