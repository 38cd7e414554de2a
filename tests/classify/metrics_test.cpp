#include "couplet/classify/metrics.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

const std::vector<Label> truth{0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1};

/// Two columns that sum to one.
Matrix<double> binary(const std::vector<double>& of_one) {
    Matrix<double> p(static_cast<Index>(of_one.size()), 2);
    for (std::size_t i = 0; i < of_one.size(); ++i) {
        p(static_cast<Index>(i), 1) = of_one[i];
        p(static_cast<Index>(i), 0) = 1 - of_one[i];
    }
    return p;
}

const std::vector<double> first{.1, .4, .35, .8, .4, .6, .2, .4, .9, .7, .05, .55};
const std::vector<double> second{.3, .2, .45, .6, .5, .4, .1, .7, .8, .4, .3, .35};

TEST(MetricsTest, TheAreaIsThatOfAllPairsAndItsIntervalDeLongs) {
    // By scikit-learn's roc_auc_score, and DeLong's variance from the matrix of all pairs.
    const auto area = auc(truth, binary(first));
    ASSERT_TRUE(area && area->interval);
    EXPECT_NEAR(area->value, 0.8055555555555556, 1e-12);
    EXPECT_NEAR(area->interval->low, 0.43891944772355157, 1e-9);
    EXPECT_NEAR(area->interval->high, 0.9564083746068134, 1e-9);
    const auto difference = auc_difference(truth, binary(first), binary(second));
    ASSERT_TRUE(difference && difference->interval);
    EXPECT_NEAR(difference->value, -0.06944444444444445, 1e-12);
    EXPECT_NEAR(difference->interval->low, -0.3218883091324458, 1e-9);
    EXPECT_NEAR(difference->interval->high, 0.18299942024355695, 1e-9);
}

TEST(MetricsTest, MoreClassesAreEachAgainstTheRest) {
    const double rows[8][3] = {{.5, .3, .2}, {.2, .5, .3}, {.1, .2, .7},   {.4, .4, .2},
                               {.3, .3, .4}, {.6, .1, .3}, {.25, .35, .4}, {.1, .8, .1}};
    Matrix<double> p(8, 3);
    for (Index i = 0; i < 8; ++i) std::copy_n(rows[i], 3, p.view().row(i));
    const std::vector<Label> labels{0, 1, 2, 1, 2, 0, 0, 1};
    const auto area = auc(labels, p);
    ASSERT_TRUE(area && area->interval);
    EXPECT_NEAR(area->value, 0.9416666666666668, 1e-12);  // roc_auc_score(multi_class="ovr", average="macro")
    EXPECT_LT(area->interval->low, area->value);
    EXPECT_GT(area->interval->high, area->value);
    const auto each = class_aucs(labels, p);
    double mean = 0;
    for (const auto& one : each) mean += one.value() / 3;
    EXPECT_NEAR(mean, area->value, 1e-12);
}

TEST(MetricsTest, TheIntervalHoldsTheTruthAboutAsOftenAsItSays) {
    // Scores N(0,1) and N(1,1): the area is Phi(1/sqrt 2).
    const double area = 0.5 * std::erfc(-0.5);
    Random random(3);
    int held = 0;
    constexpr int trials = 400;
    for (int t = 0; t < trials; ++t) {
        std::vector<Label> labels;
        std::vector<double> scores;
        for (int i = 0; i < 100; ++i) {
            labels.push_back(i % 4 == 0 ? 1 : 0);
            scores.push_back(1 / (1 + std::exp(-random.normal() - (i % 4 == 0 ? 1 : 0))));
        }
        const Interval interval = *auc(labels, binary(scores))->interval;
        held += interval.low <= area && area <= interval.high ? 1 : 0;
    }
    EXPECT_GT(held, 0.91 * trials);
    EXPECT_LT(held, 0.985 * trials);
}

TEST(MetricsTest, AreasCompareOnlyPeopleOfTheSameSiteAndFold) {
    const std::vector<Index> site{0, 0, 0, 0, 1, 1, 1, 1, 1};
    const std::vector<Index> fold{0, 0, 1, 1, 0, 0, 0, 1, 1};
    const std::vector<Label> labels{0, 1, 0, 1, 0, 1, 1, 0, 0};
    // One pair in order, one not, one of two in order and one equal; the last two people meet no other class.
    const Matrix<double> p = binary({.1, .2, .8, .7, .5, .6, .5, .4, .9});
    EXPECT_NEAR(auc(labels, p, {site, fold})->value, 2.5 / 4, 1e-12);
    const Measures all = measure(labels, p, labels, {site, fold});
    EXPECT_NEAR(all.auc->value, 2.5 / 4, 1e-12);
    EXPECT_EQ(all.auc_pairs, 4);
    EXPECT_EQ(all.auc_people, 7);
    EXPECT_EQ(measure(labels, p, labels).auc_pairs, 20);
}

TEST(MetricsTest, AStratifiedAreaIsTheMeanOfThoseOfTheStrataByTheirPairs) {
    Random random(5);
    std::vector<Label> labels;
    std::vector<Index> site;
    std::vector<double> a;
    std::vector<double> b;
    const std::vector<Index> none;
    double sum = 0;
    double variance = 0;
    double difference = 0;
    double pairs = 0;
    for (const Index people : {40, 60, 30}) {
        const std::size_t begin = labels.size();
        for (Index i = 0; i < people; ++i) {
            labels.push_back(i % (2 + static_cast<Index>(site.size() / 40)) == 0 ? 1 : 0);
            const double shift = static_cast<double>(labels.back());
            a.push_back(1 / (1 + std::exp(-random.normal() - shift)));
            b.push_back(1 / (1 + std::exp(-random.normal() - shift / 2)));
        }
        site.resize(labels.size(), static_cast<Index>(begin));
        const std::span<const Label> own = std::span(labels).subspan(begin);
        const Matrix<double> mine = binary({a.begin() + static_cast<std::ptrdiff_t>(begin), a.end()});
        const Matrix<double> theirs = binary({b.begin() + static_cast<std::ptrdiff_t>(begin), b.end()});
        const auto ill = static_cast<double>(std::count(own.begin(), own.end(), 1));
        const double count = ill * (static_cast<double>(people) - ill);
        const Estimate gained = *auc_difference(own, mine, theirs);
        sum += count * auc(own, mine)->value;
        difference += count * gained.value;
        variance += std::pow(count * (gained.interval->high - gained.value), 2);
        pairs += count;
    }
    EXPECT_NEAR(auc(labels, binary(a), {site, none})->value, sum / pairs, 1e-12);
    const Estimate gained = *auc_difference(labels, binary(a), binary(b), {site, none});
    EXPECT_NEAR(gained.value, difference / pairs, 1e-12);
    // Sites are independent: their variances add up.
    EXPECT_NEAR(gained.interval->high - gained.value, std::sqrt(variance) / pairs, 1e-12);
    EXPECT_NEAR(gained.value - gained.interval->low, std::sqrt(variance) / pairs, 1e-12);
}

TEST(MetricsTest, AShareOfIllPeopleAtASiteOrInAFoldIsNoSkill) {
    // Everybody of a stratum has the same probability, that of the class there.
    std::vector<Label> labels;
    std::vector<Index> stratum;
    std::vector<double> p;
    for (int i = 0; i < 100; ++i) {
        stratum.push_back(i % 2);
        labels.push_back((i / 2) % 10 == 0 ? i % 2 : 1 - i % 2);
        p.push_back(i % 2 == 0 ? 0.9 : 0.1);
    }
    const std::vector<Index> none;
    EXPECT_GT(auc(labels, binary(p))->value, 0.85);
    EXPECT_EQ(auc(labels, binary(p), {stratum, none})->value, 0.5);
    EXPECT_EQ(auc(labels, binary(p), {none, stratum})->value, 0.5);
    EXPECT_EQ(*class_aucs(labels, binary(p), {stratum, none})[1], 0.5);
    // Who meets nobody of another class is in no area.
    EXPECT_FALSE(auc(labels, binary(p), {labels, none}));
    EXPECT_FALSE(auc_difference(labels, binary(p), binary(p), {labels, none}));
    EXPECT_EQ(measure(labels, binary(p), labels, {labels, none}).auc_people, 0);
    EXPECT_THROW(auc(labels, binary(p), {std::span(stratum).first(3), none}), InputError);
}

TEST(MetricsTest, TheIntervalOfSmallStrataHoldsTheTruth) {
    // Four sites and five folds of ten people each, of whom two are ill; sites shift all scores.
    const double area = 0.5 * std::erfc(-0.5);
    Random random(8);
    int held = 0;
    constexpr int trials = 300;
    std::vector<Label> labels;
    std::vector<Index> site;
    std::vector<Index> fold;
    for (Index i = 0; i < 200; ++i) {
        site.push_back(i % 4);
        fold.push_back((i / 4) % 5);
        labels.push_back((i / 20) % 5 == 0 ? 1 : 0);
    }
    for (int t = 0; t < trials; ++t) {
        std::vector<double> scores;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const double shift = static_cast<double>(labels[i] + site[i] - fold[i]);
            scores.push_back(1 / (1 + std::exp(-random.normal() - shift)));
        }
        const Interval interval = *auc(labels, binary(scores), {site, fold})->interval;
        held += interval.low <= area && area <= interval.high ? 1 : 0;
    }
    EXPECT_GT(held, 0.92 * trials);
    EXPECT_LT(held, trials);
}

TEST(MetricsTest, AreasOfFewOrPerfectPredictions) {
    EXPECT_FALSE(auc(std::vector<Label>{1, 1}, binary({.2, .7})));
    const auto lonely = auc(std::vector<Label>{0, 0, 1}, binary({.2, .7, .8}));
    ASSERT_TRUE(lonely);
    EXPECT_EQ(lonely->value, 1);
    EXPECT_FALSE(lonely->interval);
    const auto perfect = auc(std::vector<Label>{0, 0, 0, 1, 1}, binary({.1, .2, .3, .8, .9}));
    ASSERT_TRUE(perfect && perfect->interval);
    EXPECT_EQ(perfect->interval->high, 1);
    EXPECT_NEAR(perfect->interval->low, wilson_interval(1, 2).low, 1e-12);
    EXPECT_EQ(auc(std::vector<Label>{0, 1}, binary({.5, .5}))->value, 0.5);
    EXPECT_THROW(auc(std::vector<Label>{0, 2}, binary({.5, .5})), InputError);
    EXPECT_THROW(auc(std::vector<Label>{0}, binary({.5, .5})), InputError);
    EXPECT_FALSE(class_aucs(std::vector<Label>{1, 1}, binary({.5, .6}))[0]);
}

TEST(MetricsTest, BalancedAccuracyIsTheMeanOfTheRecalls) {
    // 84 of 100 are one class: always guessing it is right for 84% and says nothing.
    std::vector<Label> labels(100, 0);
    std::fill_n(labels.begin(), 16, 1);
    const auto confusion = confusion_of(labels, std::vector<Label>(100, 0), 2);
    EXPECT_EQ(confusion, (Confusion{{84, 0}, {16, 0}}));
    EXPECT_NEAR(accuracy_of(confusion).value, 0.84, 1e-12);
    const Estimate balanced = balanced_accuracy_of(confusion);
    EXPECT_EQ(balanced.value, 0.5);
    EXPECT_LT(balanced.interval->low, 0.5);
    EXPECT_GT(balanced.interval->high, 0.55);
    // A class that nobody has does not count.
    EXPECT_EQ(balanced_accuracy_of({{3, 1, 0}, {0, 0, 0}, {1, 0, 3}}).value, 0.75);
    EXPECT_THROW(accuracy_of({{0, 0}, {0, 0}}), InputError);
    EXPECT_THROW(confusion_of(labels, std::vector<Label>(100, 2), 2), InputError);
}

TEST(MetricsTest, WilsonsIntervalHasHisFigures) {
    // 81 of 263 (Newcombe 1998, table I): 0.2553 to 0.3662.
    const Interval interval = wilson_interval(81.0 / 263, 263);
    EXPECT_NEAR(interval.low, 0.2553, 5e-5);
    EXPECT_NEAR(interval.high, 0.3662, 5e-5);
    EXPECT_EQ(wilson_interval(0, 10).low, 0);
    EXPECT_EQ(wilson_interval(1, 10).high, 1);
}

TEST(MetricsTest, CalibrationComparesWhatWasForetoldWithWhatHappened) {
    EXPECT_NEAR(calibrate(truth, binary(first)).brier, 0.17145833333333335, 1e-12);  // brier_score_loss
    // Twenty people with 0.25, of whom five are of the class, and twenty with 0.9, of whom ten are.
    std::vector<Label> labels;
    std::vector<double> p;
    for (int i = 0; i < 40; ++i) {
        p.push_back(i < 20 ? 0.25 : 0.9);
        labels.push_back(i < 20 ? (i < 5 ? 1 : 0) : (i < 30 ? 1 : 0));
    }
    const Calibration result = calibrate(labels, binary(p));
    ASSERT_EQ(result.bins.size(), 2U);  // equal probabilities stay together
    EXPECT_EQ(result.bins[0].people, 20);
    EXPECT_NEAR(result.bins[0].observed, 0.25, 1e-12);
    EXPECT_NEAR(result.bins[1].predicted, 0.9, 1e-12);
    EXPECT_NEAR(result.bins[1].observed, 0.5, 1e-12);
    EXPECT_NEAR(result.error, 0.2, 1e-12);
    // Different ones: ten groups, everybody in one of them.
    std::vector<double> spread;
    for (int i = 0; i < 40; ++i) spread.push_back(i / 40.0);
    const auto deciles = calibrate(labels, binary(spread)).bins;
    EXPECT_EQ(deciles.size(), 10U);
    for (const auto& bin : deciles) EXPECT_EQ(bin.people, 4);
}

TEST(MetricsTest, MeasuresOfEverything) {
    std::vector<Label> predicted;
    for (const double p : first) predicted.push_back(p > 0.5 ? 1 : 0);
    const Measures all = measure(truth, binary(first), predicted);
    EXPECT_EQ(all.people, 12);
    EXPECT_EQ(all.majority, 0.5);
    EXPECT_EQ(all.confusion, (Confusion{{5, 1}, {2, 4}}));
    EXPECT_NEAR(all.balanced_accuracy.value, 0.75, 1e-12);
    EXPECT_NEAR(*all.class_aucs[0], all.auc->value, 1e-12);
}

}  // namespace
}  // namespace couplet
