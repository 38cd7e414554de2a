#include "couplet/classify/evaluate.hpp"

#include <gtest/gtest.h>

#include <set>

#include "couplet/classify/folds.hpp"
#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

/// People whose class shows in index 3 of mode 2, as far as `signal` stands out of the noise.
LabelledSite site_of(const std::string& name, Index people, double signal, std::uint64_t seed, Index classes = 2) {
    Random random(seed);
    LabelledSite site{name, Tensor<double>({people, 6, 4}), {}};
    for (double& e : site.data.elements()) e = random.normal();
    for (Index p = 0; p < people; ++p) {
        site.labels.push_back(p % classes);
        for (Index j = 0; j < 4; ++j) {
            site.data.data()[(p * 6 + 3) * 4 + j] += signal * (static_cast<double>(p % classes) - 0.5);
        }
    }
    return site;
}

const Outcome& outcome_of(const Evaluation& evaluation, Arm arm, ModelKind model) {
    for (const Outcome& outcome : evaluation.outcomes) {
        if (outcome.arm == arm && outcome.model == model) return outcome;
    }
    throw std::logic_error("no such outcome");
}

template <class... Sites>
std::vector<LabelledSite> list(Sites... sites) {
    std::vector<LabelledSite> all;
    (all.push_back(std::move(sites)), ...);
    return all;
}

TEST(EvaluateTest, EverybodyIsPredictedOnceByEveryArm) {
    const auto sites = list(site_of("a", 40, 3, 1), site_of("b", 30, 3, 2));
    const Evaluation evaluation = evaluate(sites, 2, {.rank = 5});
    EXPECT_EQ(evaluation.outcomes.size(), 8U);
    EXPECT_EQ(evaluation.rank, 5);
    EXPECT_EQ(std::set<Index>(evaluation.fold.begin(), evaluation.fold.end()).size(), 5U);
    for (const Outcome& outcome : evaluation.outcomes) {
        for (Index i = 0; i < 70; ++i) {
            EXPECT_NEAR(outcome.probabilities(i, 0) + outcome.probabilities(i, 1), 1, 1e-9)
                << to_string(outcome.arm) << " " << to_string(outcome.model);
        }
        EXPECT_GT(measure(evaluation, outcome).auc->value, 0.9) << to_string(outcome.arm) << to_string(outcome.model);
        EXPECT_EQ(measure(evaluation, outcome, 0).people, 40);
        EXPECT_EQ(measure(evaluation, outcome, 1).people, 30);
    }
    EXPECT_EQ(compare_arms(evaluation).size(), 8U);
}

TEST(EvaluateTest, NoiseIsNoBetterThanGuessing) {
    // Features or classifiers that had seen the test people's labels would do better.
    const auto sites = list(site_of("a", 120, 0, 3), site_of("b", 120, 0, 4));
    const Evaluation evaluation = evaluate(sites, 2, {.rank = 10});
    for (const Outcome& outcome : evaluation.outcomes) {
        const Estimate area = *measure(evaluation, outcome).auc;
        EXPECT_GT(area.value, 0.36) << to_string(outcome.arm) << " " << to_string(outcome.model);
        EXPECT_LT(area.value, 0.64) << to_string(outcome.arm) << " " << to_string(outcome.model);
    }
}

/// Noise, everybody twice, classes by a coin: whoever has seen the first copy knows the class of the second.
TEST(EvaluateTest, PeopleWhoMayBeTheSameAreTestedTogether) {
    Random random(7);
    LabelledSite site{"a", Tensor<double>({120, 8}), {}};
    for (Index p = 0; p < 120; ++p) {
        const bool copy = p % 2 == 1;
        for (Index j = 0; j < 8; ++j) {
            site.data.data()[p * 8 + j] = copy ? site.data.data()[(p - 1) * 8 + j] : random.normal();
        }
        site.labels.push_back(copy ? site.labels.back() : Label{random.normal() > 0});
        site.same_as.push_back(p / 2 * 2);
    }
    const auto area = [](const LabelledSite& one) {
        const Evaluation evaluation = evaluate(std::span(&one, 1), 2, {.rank = 5, .neighbours = 1});
        return measure(evaluation, outcome_of(evaluation, Arm::centralized, ModelKind::knn)).auc->value;
    };
    EXPECT_LT(area(site), 0.65);
    site.same_as.clear();
    EXPECT_GT(area(site), 0.85) << "the trap would catch nobody";
    site.same_as = {0};
    EXPECT_THROW(area(site), InputError);
}

TEST(EvaluateTest, UnequalSharesOfIllPeopleAreNoSkill) {
    // Noise; nine of ten are ill at one site, one of ten at the other.
    auto sites = list(site_of("a", 300, 0, 21), site_of("b", 300, 0, 22));
    for (std::size_t i = 0; i < 300; ++i) {
        sites[0].labels[i] = i % 10 == 3 ? 0 : 1;
        sites[1].labels[i] = i % 10 == 3 ? 1 : 0;
    }
    const Evaluation evaluation = evaluate(sites, 2, {.rank = 4});
    for (const Outcome& outcome : evaluation.outcomes) {
        const Estimate area = *measure(evaluation, outcome).auc;
        EXPECT_GT(area.value, 0.35) << to_string(outcome.arm) << " " << to_string(outcome.model);
        EXPECT_LT(area.value, 0.65) << to_string(outcome.arm) << " " << to_string(outcome.model);
    }
    for (const ArmComparison& one : compare_arms(evaluation)) {
        EXPECT_LT(std::abs(one.auc_difference.value), 0.15) << to_string(one.arm) << " " << to_string(one.against);
    }
    // Data that say nothing: guessing, exactly.
    for (auto& site : sites) std::fill(site.data.elements().begin(), site.data.elements().end(), 0.0);
    const Evaluation nothing = evaluate(sites, 2, {.rank = 4});
    for (const Outcome& outcome : nothing.outcomes) EXPECT_EQ(measure(nothing, outcome).auc->value, 0.5);
}

TEST(EvaluateTest, LabelsOfAFoldDoNotReachItsPredictions) {
    auto sites = list(site_of("a", 30, 2, 5), site_of("b", 30, 2, 6));
    const EvaluationOptions how{.rank = 4, .folds = 3, .decision = Decision::probable};
    const Evaluation before = evaluate(sites, 2, how);
    // Two people of one site and fold and of different classes swap their labels such that the folds stay what they
    // are: so must what is said of everybody in that fold.
    std::size_t one = 0;
    std::size_t other = 0;
    for (std::size_t i = 0; i < 30 && other == 0; ++i) {
        for (std::size_t j = i + 1; j < 30 && other == 0; ++j) {
            if (before.fold[i] != before.fold[j] || before.labels[i] == before.labels[j]) continue;
            auto labels = before.labels;
            std::swap(labels[i], labels[j]);
            if (assign_folds(labels, before.site, how.folds, how.seed) != before.fold) continue;
            one = i;
            other = j;
        }
    }
    ASSERT_GT(other, 0U);
    std::swap(sites[0].labels[one], sites[0].labels[other]);
    const Evaluation after = evaluate(sites, 2, how);
    ASSERT_EQ(after.fold, before.fold);
    EXPECT_NE(after.labels, before.labels);
    for (std::size_t k = 0; k < before.outcomes.size(); ++k) {
        for (Index i = 0; i < 60; ++i) {
            if (before.fold[static_cast<std::size_t>(i)] != before.fold[one]) continue;
            EXPECT_EQ(before.outcomes[k].probabilities(i, 1), after.outcomes[k].probabilities(i, 1));
        }
    }
}

TEST(EvaluateTest, TestPeopleTakePartInTheFeaturesOnlyWhenAsked) {
    // A test person so large that features which saw it would be of nobody else.
    auto sites = list(site_of("a", 24, 3, 7), site_of("b", 24, 3, 8));
    for (Index e = 0; e < 24; ++e) sites[0].data.data()[e] = e == 0 ? 1e6 : 0;
    const auto others_area = [&](LearnFrom from) {
        const Evaluation evaluation = evaluate(sites, 2, {.rank = 1, .folds = 4, .learn_from = from});
        const Outcome& outcome = outcome_of(evaluation, Arm::centralized, ModelKind::logistic);
        std::vector<Label> labels;
        std::vector<double> p;
        for (std::size_t i = 0; i < evaluation.fold.size(); ++i) {
            if (i == 0 || evaluation.fold[i] != evaluation.fold[0]) continue;
            labels.push_back(evaluation.labels[i]);
            p.push_back(outcome.probabilities(static_cast<Index>(i), 1));
        }
        Matrix<double> both(static_cast<Index>(p.size()), 2);
        for (Index i = 0; i < both.rows(); ++i) {
            both(i, 1) = p[static_cast<std::size_t>(i)];
            both(i, 0) = 1 - both(i, 1);
        }
        return auc(labels, both)->value;
    };
    EXPECT_GT(others_area(LearnFrom::training), 0.9);
    EXPECT_LT(others_area(LearnFrom::all), 0.9);
}

TEST(EvaluateTest, OddSitesAreServed) {
    // One class only, three people, three classes, values of 1e60, perfectly separable.
    LabelledSite same = site_of("same", 12, 50, 9, 3);
    std::fill(same.labels.begin(), same.labels.end(), 1);
    auto sites = list(site_of("large", 60, 50, 10, 3), std::move(same), site_of("three", 3, 50, 11, 3));
    for (auto& site : sites) {
        for (double& e : site.data.elements()) e *= 1e60;
    }
    const Evaluation evaluation = evaluate(sites, 3, {.rank = 6});
    for (const Outcome& outcome : evaluation.outcomes) {
        for (Index i = 0; i < outcome.probabilities.size(); ++i) {
            ASSERT_TRUE(std::isfinite(outcome.probabilities.data()[i])) << to_string(outcome.arm);
        }
        EXPECT_FALSE(measure(evaluation, outcome, 1).auc);
    }
    const auto& joint = outcome_of(evaluation, Arm::federated_joint, ModelKind::logistic);
    EXPECT_GT(measure(evaluation, joint, 0).balanced_accuracy.value, 0.95);
    // Alone, a site of one class can only say that class.
    const auto& local = outcome_of(evaluation, Arm::local, ModelKind::logistic);
    for (Index i = 60; i < 72; ++i) EXPECT_EQ(local.probabilities(i, 1), 1);
}

TEST(EvaluateTest, ARareClassIsFoundByTheBalancedDecision) {
    auto sites = list(site_of("a", 200, 2.5, 12), site_of("b", 200, 2.5, 13));
    for (auto& site : sites) {  // 190 to 10
        Random random(14);
        for (Index p = 0; p < 200; ++p) {
            const Label label = p % 20 == 0 ? 1 : 0;
            site.labels[static_cast<std::size_t>(p)] = label;
            for (Index j = 0; j < 24; ++j) site.data.data()[p * 24 + j] = random.normal();
            for (Index j = 0; j < 4; ++j) site.data.data()[(p * 6 + 3) * 4 + j] += label == 1 ? 0.9 : 0;
        }
    }
    const auto balanced_accuracy = [&](Decision decision) {
        const Evaluation evaluation = evaluate(sites, 2, {.rank = 8, .decision = decision});
        return measure(evaluation, outcome_of(evaluation, Arm::centralized, ModelKind::logistic))
            .balanced_accuracy.value;
    };
    EXPECT_GT(balanced_accuracy(Decision::balanced), balanced_accuracy(Decision::probable) + 0.1);
}

TEST(EvaluateTest, RefusesWhatCannotBeEvaluated) {
    const auto message = [](const std::vector<LabelledSite>& sites, const EvaluationOptions& how) {
        return support::message_of([&] { evaluate(sites, 2, how); });
    };
    EXPECT_NE(message({}, {}).find("sites: none"), std::string::npos);
    EXPECT_NE(message(list(site_of("one", 1, 0, 1)), {}).find("one: 1 people"), std::string::npos);
    EXPECT_NE(message(list(site_of("few", 4, 0, 1)), {}).find("`folds`"), std::string::npos);
    EXPECT_NE(message(list(site_of("x", 9, 0, 1)), {.ridge = 0}).find("`ridge`"), std::string::npos);
    EXPECT_NE(message(list(site_of("x", 9, 0, 1, 3)), {}).find("no class"), std::string::npos);
}

TEST(EvaluateTest, Names) {
    EXPECT_EQ(to_string(Arm::local), "local");
    EXPECT_EQ(to_string(Arm::federated), "federated");
    EXPECT_EQ(to_string(Arm::federated_joint), "federated-joint");
    EXPECT_EQ(to_string(Arm::centralized), "centralized");
    EXPECT_EQ(to_string(ModelKind::logistic) + to_string(ModelKind::knn), "logisticknn");
    EXPECT_EQ(to_string(Decision::balanced) + to_string(Decision::probable), "balancedprobable");
    EXPECT_EQ(to_string(LearnFrom::training) + to_string(LearnFrom::all), "trainingall");
}

}  // namespace
}  // namespace couplet
