#include "couplet/audit/audit_summary.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace couplet {
namespace {

RankedMode& entry_of(std::vector<RankedMode>& modes, const std::string& mode) {
    const auto at = std::find_if(modes.begin(), modes.end(), [&](const RankedMode& one) { return one.mode == mode; });
    if (at != modes.end()) return *at;
    modes.push_back({.mode = mode});
    return modes.back();
}

std::string of_patients(const Recovery& recovery) {
    return std::to_string(recovery.recovered) + " of " + std::to_string(recovery.patients);
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
        text += parts[i];
    }
    return text;
}

/// What can be told about who took part, for modes from which nobody was rebuilt.
std::string membership_words(const std::vector<RankedMode>& modes) {
    const auto has = [&](auto&& what) { return std::any_of(modes.begin(), modes.end(), what); };
    if (has([](const RankedMode& one) { return one.verdict == Verdict::membership; }))
        return "who took part can be told";
    if (has([](const RankedMode& one) { return one.verdict == Verdict::untested; })) {
        return "without controls nobody can say whether who took part can be told";
    }
    if (has([](const RankedMode& one) { return one.membership.low > 0.5; })) {
        return "who took part can be guessed a little better than by chance";
    }
    return "who took part could not be guessed better than by chance";
}

}  // namespace

std::vector<RankedMode> rank_modes(const AuditReport& report) {
    std::vector<RankedMode> modes;
    for (const auto& finding : report.findings) {
        RankedMode& one = entry_of(modes, finding.mode);
        one.verdict = std::min(one.verdict, finding.verdict);
        const Recovery& best = finding.best().recovery;
        const auto rank = [](const Recovery& r) { return std::tuple(r.is_evidence(), r.share(), r.patients); };
        if (rank(best) > rank(one.recovered)) one.recovered = best;
        if (finding.membership.low >= one.membership.low) one.membership = finding.membership;
    }
    std::stable_sort(modes.begin(), modes.end(), [](const RankedMode& a, const RankedMode& b) {
        const auto rank = [](const RankedMode& m) {
            return std::tuple(-static_cast<int>(m.verdict), m.recovered.share(), m.membership.low);
        };
        return rank(a) < rank(b);
    });
    return modes;
}

std::string mode_in_words(const std::string& mode) {
    constexpr std::array<std::pair<const char*, const char*>, 6> words{
        {{"stack", "plain messages (stack)"},
         {"average", "averaged factors (average)"},
         {"subspace", "plain sums (subspace)"},
         {"secure", "masked sums (secure)"},
         {"secure, policy off", "masked sums without the policy"},
         {"private", "sums with noise (private)"}}};
    for (const auto& [name, text] : words) {
        if (mode == name) return text;
    }
    return mode;
}

std::string summary_of(const AuditReport& report) {
    std::vector<RankedMode> safe;
    std::vector<std::string> broken;
    std::vector<std::string> unbroken;
    const auto modes = rank_modes(report);
    for (const auto& one : modes) {
        if (one.verdict == Verdict::patients) {
            broken.push_back(mode_in_words(one.mode) + " (" + of_patients(one.recovered) + ")");
        } else {
            safe.push_back(one);
            unbroken.push_back(mode_in_words(one.mode));
        }
    }
    std::string text;
    if (!broken.empty()) {
        text = "Records of patients can be rebuilt by whoever receives " + joined(broken) + ".";
    }
    if (unbroken.empty()) return text;
    if (!text.empty()) text += " ";
    return text + "From " + joined(unbroken) + " no record could be rebuilt by the attacks tried; " +
           membership_words(safe) + ".";
}

}  // namespace couplet
