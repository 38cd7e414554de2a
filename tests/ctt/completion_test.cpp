#include "couplet/ctt/completion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/ctt/filling_limits.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using namespace support;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor<double> with_holes(Index rows, Index cols, double fraction, std::uint64_t seed = 4) {
    auto x = random_matrix<double>(rows, cols, seed);
    Random random(seed + 1);
    for (Index i = 0; i < x.size(); ++i) {
        x.data()[i] += 2;
        if (random.uniform() < fraction) x.data()[i] = nan;
    }
    return {Shape{rows, cols}, std::move(x).release()};
}

/// Features of one mode: R x P with orthonormal rows.
Features features_of_rank(Index rank, Index cols, std::uint64_t seed = 7) {
    std::vector<Tensor<double>> cores;
    cores.emplace_back(Shape{rank, cols, 1}, transpose(orthonormal_columns(cols, rank, seed).view()).release());
    return {TensorTrain<double>(std::move(cores), {Orthogonality::right}), {}, true};
}

double known_mean(const Tensor<double>& x, Index column) {
    double sum = 0;
    double count = 0;
    for (Index i = 0; i < x.shape()[0]; ++i) {
        const double value = x.data()[i * x.shape()[1] + column];
        if (std::isnan(value)) continue;
        sum += value;
        ++count;
    }
    return sum / count;
}

TEST(IncompleteClientTest, BeginsWithTheMeans) {
    auto x = with_holes(6, 5, 0);
    x.data()[1] = nan;  // one entry, so one other is kept for validation at most
    const IncompleteClient client(x, {}, 1, 0);
    Index changed = 0;
    for (Index i = 0; i < x.size(); ++i) {
        const double filled = client.filled()->data()[i];
        if (i == 1) {
            // The mean of its column, but for the entry that may be spared there.
            EXPECT_NEAR(filled, known_mean(x, 1), 2);
        } else if (filled != x.data()[i]) {
            ++changed;
        }
    }
    EXPECT_LE(changed, 1);
}

TEST(IncompleteClientTest, SparesAShareOfWhatIsKnownAndNobodysLastEntry) {
    auto x = with_holes(200, 20, 0.5);
    for (Index j = 0; j < 20; ++j) {
        x.data()[3 * 20 + j] = j == 4 ? 1.0 : nan;  // a patient of one entry
        x.data()[5 * 20 + j] = nan;                 // of none
    }
    for (Index i = 0; i < 200; ++i) x.data()[i * 20 + 7] = i == 9 ? 1.0 : nan;  // a feature of one entry
    IncompleteClient client(x, {}, 1, 0);
    const FillSums sums = client.take(features_of_rank(2, 20), {});
    double missing = 0;
    for (const double e : x.elements()) missing += std::isnan(e) ? 1 : 0;
    EXPECT_EQ(sums.entries, 4000);
    EXPECT_EQ(sums.missing, missing);
    EXPECT_NEAR(sums.validation, 0.05 * (4000 - missing), 5);
    // These are still shown as they are.
    EXPECT_EQ(client.filled()->data()[3 * 20 + 4], 1.0);
    EXPECT_EQ(client.filled()->data()[9 * 20 + 7], 1.0);
    // Another client spares others, and so does another seed.
    const IncompleteClient other(x, {}, 1, 1);
    const IncompleteClient seeded(x, {}, 2, 0);
    const auto same = [&](const IncompleteClient& a) {
        return std::ranges::equal(a.filled()->elements(), IncompleteClient(x, {}, 1, 0).filled()->elements());
    };
    EXPECT_FALSE(same(other));
    EXPECT_FALSE(same(seeded));
    EXPECT_TRUE(same(IncompleteClient(x, {}, 1, 0)));
}

TEST(IncompleteClientTest, TheFillIsThatOfItsContract) {
    const auto x = with_holes(9, 12, 0.3);
    const auto features = features_of_rank(3, 12);
    IncompleteClient client(x, {}, 1, 0);
    const auto before = Tensor<double>::copy(client.filled()->view());
    std::set<Index> hidden;  // to the features: what is missing, and what is kept for validation
    for (Index i = 0; i < x.size(); ++i) {
        if (before.data()[i] != x.data()[i]) hidden.insert(i);
    }
    const Filling how{0.25, 1.5};
    const FillSums sums = client.take(features, how);
    const Tensor<double> model = client.model(features);
    double change2 = 0;
    double error2 = 0;
    double objective = 0;
    for (Index i = 0; i < x.size(); ++i) {
        const double m = model.data()[i];
        const double filled = client.filled()->data()[i];
        if (!hidden.contains(i)) {
            EXPECT_NEAR(filled, m + 1.5 * (x.data()[i] - m), 1e-12);
            error2 += std::pow(x.data()[i] - m, 2);
            continue;
        }
        const double mean = before.data()[i];
        EXPECT_NEAR(filled, m + 1.5 * 0.25 * (mean - m), 1e-12);
        change2 += std::pow(m - mean, 2);
        objective += 0.25 * std::pow(m - mean, 2);
    }
    EXPECT_NEAR(sums.change2, change2, 1e-12 * change2);
    EXPECT_NEAR(sums.error2, error2, 1e-12 * error2);
    EXPECT_NEAR(sums.objective, error2 + objective, 1e-12 * sums.objective);
    EXPECT_NEAR(sums.norm2, squared_norm<double>(client.filled()->view().unfold(1)), 0);
    EXPECT_GT(sums.validation_norm2, 0);
    // Told the same again nothing moves.
    EXPECT_EQ(client.take(features, how).change2, 0);
}

TEST(IncompleteClientTest, WhatItDoesFollowsFromWhatItWasToldLast) {
    const auto x = with_holes(9, 12, 0.3);
    IncompleteClient veteran(x, {}, 1, 2);
    veteran.take(features_of_rank(3, 12, 1), {0.2, 1});
    veteran.take(features_of_rank(3, 12, 2), {0.2, 1.7});
    IncompleteClient restarted(x, {}, 1, 2);
    restarted.take(features_of_rank(3, 12, 2), {0.2, 1.7});
    EXPECT_TRUE(std::ranges::equal(veteran.filled()->elements(), restarted.filled()->elements()));
    const FillSums a = veteran.take(features_of_rank(3, 12, 3), {0.05, 1});
    const FillSums b = restarted.take(features_of_rank(3, 12, 3), {0.05, 1});
    EXPECT_EQ(a.change2, b.change2);
    EXPECT_EQ(a.norm2, b.norm2);
}

TEST(IncompleteClientTest, TheLastFitUsesEverythingKnown) {
    const auto x = with_holes(20, 12, 0.3);
    const auto features = features_of_rank(3, 12);
    IncompleteClient client(x, {}, 1, 0);
    client.take(features, {0, 1});
    const FillSums last = client.take(features, {0, 1, true});
    const auto w = Matrix<double>::adopt(features.train.full().release(), 3, 12);
    const auto fit = fit_known(x.view().unfold(1), w.view());
    EXPECT_EQ(last.error2, fit.error2);
    EXPECT_EQ(last.known2, fit.norm2);
    const PersonalFit result = client.result();
    for (Index i = 0; i < fit.personal.size(); ++i) EXPECT_EQ(result.personal.data()[i], fit.personal.data()[i]);
}

TEST(IncompleteClientTest, ScalesAndScalesBack) {
    const auto x = with_holes(20, 12, 0.3);
    const auto features = features_of_rank(3, 12);
    IncompleteClient plain(x, {}, 1, 0);
    IncompleteClient scaled(x, {.scale_clients = true}, 1, 0);
    EXPECT_NEAR(squared_norm<double>(scaled.filled()->view().unfold(1)), 1, 1e-12);
    for (IncompleteClient* client : {&plain, &scaled}) {
        client->take(features, {0.2, 1});
        client->take(features, {0.2, 1, true});
    }
    const PersonalFit a = plain.result();
    const PersonalFit b = scaled.result();
    EXPECT_LE(naive_distance(a.personal.view(), b.personal.view()), 1e-12 * naive_norm(a.personal.view()));
    EXPECT_NEAR(a.error2 / a.norm2, b.error2 / b.norm2, 1e-12);
}

TEST(IncompleteClientTest, InfinityIsNoMissingEntry) {
    auto x = with_holes(4, 5, 0.2);
    x.data()[7] = -std::numeric_limits<double>::infinity();
    const std::string said = message_of([&] { IncompleteClient(x, {}, 1, 2); });
    EXPECT_NE(said.find("client 3: -Inf at index (1, 2)"), std::string::npos) << said;
    EXPECT_NE(said.find("Only NaN"), std::string::npos) << said;
}

/// Sums of a federation of 100 entries, 40 of them missing.
FillSums sums(double validation_rse, double relative_change, double objective = 1) {
    FillSums s;
    s.entries = 100;
    s.missing = 40;
    s.validation = 3;
    s.validation_norm2 = 1;
    s.validation_error2 = validation_rse;
    s.validation_means2 = 0.9;
    s.change2 = relative_change * relative_change;
    s.filled2 = 1;
    s.objective = objective;
    return s;
}

TEST(CompletionCourseTest, TheWeightOfTheMeansGoesDownWhileThatHelps) {
    CompletionCourse course({});
    EXPECT_EQ(course.filling(), (Filling{1, 1}));
    course.take(sums(0.8, 1));  // one job on means is all there is to learn from them
    EXPECT_EQ(course.filling().means, 0.2);
    course.take(sums(0.7, 1e-2));
    EXPECT_EQ(course.filling().means, 0.2);  // still moving
    course.take(sums(0.6, 1e-3));
    EXPECT_EQ(course.filling().means, 0.05);
    course.take(sums(0.65, 1e-4));  // settled, and worse
    EXPECT_EQ(course.filling().means, 0.2);
    EXPECT_FALSE(course.finished());
    course.take(sums(0.6, 1e-4));
    EXPECT_FALSE(course.finished());
    course.take(sums(0.6, 1e-5));
    EXPECT_TRUE(course.finished());
    const MissingReport report = course.report();
    EXPECT_TRUE(report.settled);
    EXPECT_EQ(report.iterations, 6);
    EXPECT_EQ(report.means_weight, 0.2);
    EXPECT_EQ(report.change, 1e-5);
    EXPECT_EQ(report.fraction, 0.4);
    EXPECT_EQ(*report.rse_validation, 0.6);
    EXPECT_EQ(*report.rse_means, 0.9);
    EXPECT_EQ(course.final_filling(), (Filling{0.2, 1, true}));
}

TEST(CompletionCourseTest, AWeightThatMakesItWorseIsLeftEarly) {
    CompletionCourse course({});
    course.take(sums(0.8, 1));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(course.filling().means, 0.2);
        course.take(sums(0.9, 0.1));
    }
    EXPECT_EQ(course.filling(), (Filling{1, 1}));
    course.take(sums(0.8, 0.1));  // told, but computed on another fill
    EXPECT_FALSE(course.finished());
    course.take(sums(0.8, 0.1));
    EXPECT_TRUE(course.report().settled);
    EXPECT_EQ(course.report().change, 0);
}

TEST(CompletionCourseTest, AWeightThatIsSlowToSettleIsJudgedAsItStands) {
    CompletionCourse course({});
    course.take(sums(0.8, 1));
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(course.filling().means, 0.2) << i;
        course.take(sums(0.7, 0.1));
    }
    EXPECT_EQ(course.filling().means, 0.05);
}

TEST(CompletionCourseTest, StopsUnsettledWhenItIsOutOfIterations) {
    CompletionCourse course({.max_iterations = 4});
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(course.finished());
        course.take(sums(0.5, 0.1));
    }
    EXPECT_TRUE(course.finished());
    EXPECT_FALSE(course.report().settled);
    EXPECT_EQ(course.report().change, 0.1);
}

TEST(CompletionCourseTest, StepsGrowAndShrinkWithTheObjective) {
    CompletionCourse course({});
    course.take(sums(0.8, 1));
    course.take(sums(0.7, 0.1, 10));
    EXPECT_EQ(course.filling().step, 1);  // nothing to compare with yet
    course.take(sums(0.7, 0.1, 9));
    // At most the inverse of the mean weight: 0.57 + 0.2 * 0.43.
    const double longest = 1 / (0.57 + 0.2 * 0.43);
    EXPECT_NEAR(course.filling().step, std::min(1.5, longest), 1e-12);
    course.take(sums(0.7, 0.1, 8));
    EXPECT_NEAR(course.filling().step, longest, 1e-12);
    course.take(sums(0.7, 0.09, 8.5));  // up, but coming to rest
    EXPECT_NEAR(course.filling().step, longest, 1e-12);
    course.take(sums(0.7, 0.1, 8.6));
    EXPECT_NEAR(course.filling().step, 1 + (longest - 1) / 2, 1e-12);
    course.take(sums(0.7, 0.1, 8));  // down again: a step that changes for ever never settles
    EXPECT_NEAR(course.filling().step, 1 + (longest - 1) / 2, 1e-12);
    for (int i = 0; i < 6; ++i) course.take(sums(0.7, 0.11 + 0.01 * i, 9.0 + i));
    EXPECT_EQ(course.filling().step, 1);
}

/// Of one entry the sum of squares is a patient's value.
TEST(FillingLimitsTest, SumsOverAFewValidationEntriesAreNotTold) {
    FillSums few = sums(0.5, 1);
    few.validation = least_validation - 1;
    const FillSums told = told_to_others(few);
    EXPECT_EQ(told.validation, few.validation) << "the step depends on how many are seen";
    EXPECT_EQ(told.validation_norm2 + told.validation_error2 + told.validation_means2, 0);
    EXPECT_EQ(told.objective, few.objective);
    few.validation = least_validation;
    EXPECT_EQ(told_to_others(few).validation_norm2, few.validation_norm2);
    EXPECT_EQ(longest_step(1, 0.3), 1);
    EXPECT_EQ(longest_step(0.2, 0), 5);
    EXPECT_EQ(longest_step(0, 0), 1000);
}

TEST(CompletionCourseTest, WithoutAnythingMissingOneJobIsEnough) {
    CompletionCourse course({});
    FillSums s = sums(0, 0);
    s.missing = s.validation = s.validation_norm2 = 0;
    course.take(s);
    EXPECT_TRUE(course.finished());
    EXPECT_TRUE(course.report().settled);
    EXPECT_FALSE(course.report().rse_validation);
}

TEST(CompletionCourseTest, WithoutValidationTheWeightIsFixed) {
    CompletionCourse course({});
    FillSums s = sums(0, 0.1);
    s.validation = s.validation_norm2 = s.validation_error2 = 0;
    course.take(s);
    EXPECT_EQ(course.filling().means, 0.2);
    course.take(s);
    EXPECT_FALSE(course.finished());
    s.change2 = 0;
    course.take(s);
    EXPECT_TRUE(course.report().settled);
}

TEST(CompletionCourseTest, TheSameSumsGiveTheSameCourse) {
    CompletionCourse course({});
    for (int i = 0; i < 12; ++i) course.take(sums(0.8 / (1 + i), 1.0 / (1 + i * i * i * i), 12 - i));
    CompletionCourse again({});
    for (const FillSums& s : course.history()) again.take(s);
    EXPECT_EQ(again.filling(), course.filling());
    EXPECT_EQ(again.finished(), course.finished());
}

TEST(CompletionCourseTest, RefusesAFederationWithoutOneKnownEntry) {
    CompletionCourse course({});
    FillSums s = sums(0, 0);
    s.missing = s.entries;
    EXPECT_GT(s.entries, 0);
    EXPECT_THROW(course.take(s), InputError);
}

TEST(CompletionCourseTest, RefusesLimitsThatAreNone) {
    EXPECT_THROW(CompletionCourse({.max_iterations = 0}), InputError);
    EXPECT_THROW(CompletionCourse({.tolerance = -1}), InputError);
    EXPECT_THROW(CompletionCourse({.tolerance = nan}), InputError);
}

}  // namespace
}  // namespace couplet
