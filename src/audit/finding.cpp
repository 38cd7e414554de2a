#include "couplet/audit/finding.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace couplet {
namespace {

// Sums of squares that are this close are known, whatever cells they rest on.
constexpr double known_moment = 0.05;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

/// "6 of 320 recovered, control 0 of 80".
std::string counts_text(const Recovery& recovery) {
    return std::to_string(recovery.recovered) + " of " + std::to_string(recovery.patients) + " recovered, control " +
           std::to_string(recovery.controls_recovered) + " of " + std::to_string(recovery.controls);
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
    constexpr std::string_view names[] = {"patients", "membership",    "second-moments",
                                          "untested", "features-only", "differentially-private"};
    return names[static_cast<int>(verdict)];
}

std::vector<Finding::Attack> Finding::attacks() const {
    std::vector<Attack> tried;
    const auto add = [&](std::string_view name, std::string_view how, const Recovery& recovery) {
        if (recovery.patients > 0) tried.push_back({name, how, recovery});
    };
    add("direct", "as it is seen", direct);
    add("ica", "by independent components", ica);
    add("rank_one", "by the search for outer products", rank_one);
    add("rare_rows", "by sparse fits of rare rows", rare_rows);
    add("lattice", "whole, by a lattice", lattice);
    return tried;
}

Finding::Attack Finding::best() const {
    const auto tried = attacks();
    if (tried.empty()) return {"ica", "", ica};
    return *std::max_element(tried.begin(), tried.end(), [](const Attack& a, const Attack& b) {
        const auto rank = [](const Recovery& r) { return std::pair(r.is_evidence(), r.recovered); };
        return rank(a.recovery) < rank(b.recovery);
    });
}

bool Finding::shows_patients() const {
    const auto tried = attacks();
    return std::any_of(tried.begin(), tried.end(), [](const Attack& one) { return one.recovery.is_evidence(); });
}

Verdict judge(const Finding& finding, const LeakageLimits& limits, bool controlled) {
    if (finding.shows_patients()) return Verdict::patients;
    if (finding.membership.low > limits.warn_auc) return Verdict::membership;
    if (finding.moment.disclosed > 0 || finding.moment.relative_error < known_moment) return Verdict::second_moments;
    return controlled ? Verdict::features_only : Verdict::untested;
}

namespace {

std::string moment_sentence(const Finding& finding) {
    const std::string cells = std::to_string(finding.moment.disclosed);
    if (finding.counts) return "reveals counts of record norms: " + cells + " that rest on 1 to 10 people";
    return finding.moment.disclosed > 0
               ? "reveals second moments: " + cells + " cells that rest on 1 to 10 people"
               : "reveals second moments: sums of squares and products to within " + number(100 * known_moment) + "%";
}

/// An interval that leaves out guessing is no success that counts yet, and nothing to be silent about.
std::string unbroken_sentence(const Finding& finding) {
    const auto& auc = finding.membership;
    if (!(auc.low > 0.5)) return "no attack here succeeded (not a guarantee)";
    return "who took part is guessed a little better than by chance (AUC " + number(auc.value) + ", " +
           number(auc.low) + " to " + number(auc.high) + "; from " + number(LeakageLimits{}.warn_auc) +
           " on it counts as shown)";
}

std::string bare_sentence(const Finding& finding) {
    const Recovery& best = finding.best().recovery;
    const std::string found =
        best.recovered > 0 ? "; " + counts_text(best) + (best.exceeds_control() ? "" : ", which may be chance") : "";
    switch (finding.verdict) {
        case Verdict::patients:
            return "reveals individual patients: " + counts_text(best) + ", " + std::string(finding.best().how) +
                   (best.exceeds_control() ? "" : "; more controls would tell whether that is chance");
        case Verdict::membership:
            return "reveals who took part" + found;
        case Verdict::second_moments:
            return moment_sentence(finding) + found;
        case Verdict::untested:
            return "untested: without controls nobody can say whether it shows who took part";
        case Verdict::features_only:
            return "shared features only; " + unbroken_sentence(finding) + found;
        case Verdict::differentially_private:
            return "differentially private, epsilon " + number(finding.guarantee->epsilon) + " and delta " +
                   number(finding.guarantee->delta) + ", against everybody who sees the noised sums" + found;
    }
    return "";
}

}  // namespace

std::string verdict_sentence(const Finding& finding) {
    return bare_sentence(finding) + (finding.weakness.empty() ? "" : "; no guarantee: " + finding.weakness);
}

}  // namespace couplet
