#include "couplet/classify/verdict.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

/// 200 people at one site, 100 of each class; each arm's probability is `skill` of the truth and the rest chance.
Evaluation with_skill(double federated, double local) {
    Evaluation evaluation{.classes = 2};
    Random random(3);
    for (Index p = 0; p < 200; ++p) {
        evaluation.labels.push_back(p % 2);
        evaluation.site.push_back(0);
        evaluation.fold.push_back(p % 5);
    }
    for (const auto& [arm, skill] :
         {std::pair{Arm::local, local}, std::pair{Arm::federated, federated},
          std::pair{Arm::federated_joint, federated}, std::pair{Arm::centralized, federated}}) {
        Outcome outcome{.arm = arm, .model = ModelKind::logistic, .probabilities = Matrix<double>(200, 2)};
        for (Index p = 0; p < 200; ++p) {
            const double truth = p % 2 == 0 ? 0 : 1;
            outcome.probabilities(p, 1) = skill * truth + (1 - skill) * random.uniform();
            outcome.probabilities(p, 0) = 1 - outcome.probabilities(p, 1);
            outcome.predicted.push_back(outcome.probabilities(p, 1) > 0.5 ? 1 : 0);
        }
        evaluation.outcomes.push_back(
            {arm, ModelKind::knn, Matrix<double>::copy(outcome.probabilities.view()), outcome.predicted});
        evaluation.outcomes.push_back(std::move(outcome));
    }
    return evaluation;
}

TEST(VerdictTest, SaysWhetherAnythingBeatsGuessingAndGoingAlone) {
    const SkillVerdict good = verdict_of(with_skill(0.3, 0.05));
    EXPECT_TRUE(good.beats_guessing);
    EXPECT_TRUE(good.beats_alone);
    EXPECT_NE(good.sentence.find("predict better than guessing (area under the curve 0."), std::string::npos)
        << good.sentence;
    EXPECT_NE(good.sentence.find("A site has less alone (difference of the areas +0."), std::string::npos);
    const SkillVerdict noise = verdict_of(with_skill(0, 0));
    EXPECT_FALSE(noise.beats_guessing);
    EXPECT_FALSE(noise.beats_alone);
    EXPECT_NE(noise.sentence.find("not shown to predict better than guessing"), std::string::npos) << noise.sentence;
    EXPECT_NE(noise.sentence.find("95% interval"), std::string::npos);
    const SkillVerdict worse = verdict_of(with_skill(0.1, 0.5));
    EXPECT_FALSE(worse.beats_alone);
    EXPECT_NE(worse.sentence.find("A site has more alone"), std::string::npos) << worse.sentence;
}

TEST(VerdictTest, NothingIsSaidOfOneClass) {
    Evaluation one = with_skill(0.5, 0.1);
    std::fill(one.labels.begin(), one.labels.end(), 0);
    const SkillVerdict verdict = verdict_of(one);
    EXPECT_FALSE(verdict.beats_guessing);
    EXPECT_NE(verdict.sentence.find("Nothing can be said"), std::string::npos);
}

}  // namespace
}  // namespace couplet
