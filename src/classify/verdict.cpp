#include "couplet/classify/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace couplet {
namespace {

constexpr double guessing = 0.5;

std::optional<Estimate> area_of(const Evaluation& evaluation, Arm arm) {
    for (const Outcome& outcome : evaluation.outcomes) {
        if (outcome.arm == arm && outcome.model == ModelKind::logistic) return measure(evaluation, outcome).auc;
    }
    return std::nullopt;
}

std::optional<Estimate> gain_of(const Evaluation& evaluation) {
    for (const ArmComparison& one : compare_arms(evaluation)) {
        const bool asked = one.model == ModelKind::logistic && one.arm == Arm::federated && one.against == Arm::local;
        if (asked) return one.auc_difference;
    }
    return std::nullopt;
}

std::string area_text(const Estimate& area) {
    if (!area.interval) return fmt::format("{:.2f}, too few people for an interval", area.value);
    return fmt::format("{:.2f}, 95% interval {:.2f} to {:.2f}", area.value, area.interval->low, area.interval->high);
}

std::string gain_text(const Estimate& gain) {
    if (!gain.interval) return fmt::format("{:+.3f}, too few people for an interval", gain.value);
    return fmt::format("{:+.3f}, {:+.3f} to {:+.3f}", gain.value, gain.interval->low, gain.interval->high);
}

std::string gain_sentence(const std::optional<Estimate>& gain) {
    if (!gain) return "";
    const char* than = !gain->interval            ? "Whether that is more than a site has alone is not known"
                       : gain->interval->low > 0  ? "A site has less alone"
                       : gain->interval->high < 0 ? "A site has more alone"
                                                  : "It is not shown to be more than a site has alone";
    return fmt::format(" {} (difference of the areas {}).", than, gain_text(*gain));
}

}  // namespace

SkillVerdict verdict_of(const Evaluation& evaluation) {
    const auto area = area_of(evaluation, Arm::federated);
    const auto gain = gain_of(evaluation);
    SkillVerdict verdict;
    if (!area) {
        verdict.sentence = "Nothing can be said: no fold of a site has people of two classes.";
        return verdict;
    }
    verdict.beats_guessing = area->interval && area->interval->low > guessing;
    verdict.beats_alone = gain && gain->interval && gain->interval->low > 0;
    verdict.sentence =
        fmt::format("{} (area under the curve {}; {} is guessing).{}",
                    verdict.beats_guessing ? "The federation's features predict better than guessing"
                                           : "The federation's features are not shown to predict better than guessing",
                    area_text(*area), guessing, gain_sentence(gain));
    return verdict;
}

}  // namespace couplet
