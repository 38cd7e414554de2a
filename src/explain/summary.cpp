#include "couplet/explain/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace couplet {
namespace {

Index patients_of(const Explanation& explanation) {
    Index sum = 0;
    for (const SiteScores& site : explanation.findings.sites) sum += site.scores.rows();
    return sum == 0 && explanation.evidence ? explanation.evidence->patients : sum;
}

Index sites_of(const Explanation& explanation) {
    const Findings& findings = explanation.findings;
    return findings.sites.empty() ? findings.clients : static_cast<Index>(findings.sites.size());
}

/// 1,234,567.
std::string grouped(Index count) {
    std::string text = std::to_string(count);
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
    return text;
}

std::string counted(Index count, const char* one, const char* many) {
    return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

bool is_tested(const Explanation& explanation) {
    return !explanation.components.empty() && explanation.components.front().stability.has_value();
}

std::string where_text(const Explanation& explanation) {
    const Index patients = patients_of(explanation);
    const Index sites = sites_of(explanation);
    if (patients == 0) return "the records";
    const std::string place = sites == 0 ? "" : " at " + counted(sites, "site", "sites");
    return fmt::format("the records of {}{}", counted(patients, "patient", "patients"), place);
}

}  // namespace

std::string stability_text(double stability) {
    const char* word = stability >= 0.9               ? "very stable"
                       : stability >= least_stability ? "stable"
                       : stability >= 0.5             ? "uncertain"
                                                      : "not stable";
    return fmt::format("{} ({:.2f})", word, stability);
}

Index stable_phenotypes(const Explanation& explanation) {
    return std::count_if(explanation.components.begin(), explanation.components.end(), [&](const Component& one) {
        const bool named = !explanation.evidence || !one.named.empty();
        return named && one.stability.value_or(1) >= least_stability;
    });
}

std::string found_text(const Explanation& explanation) {
    const std::string where = where_text(explanation);
    if (!explanation.evidence) {
        const auto count = static_cast<Index>(explanation.components.size());
        return fmt::format("{} in {}", counted(count, "pattern", "patterns"), where);
    }
    const Index count = is_tested(explanation) ? stable_phenotypes(explanation) : explanation.phenotypes();
    if (count == 0) return fmt::format("No stable phenotype in {}", where);
    return fmt::format("{} in {}", counted(count, "phenotype", "phenotypes"), where);
}

std::string certainty_text(const Explanation& explanation, Index resamples) {
    std::string text;
    const auto all = static_cast<Index>(explanation.components.size());
    const Index named = explanation.phenotypes();
    if (explanation.evidence && named > 0) {
        text = fmt::format(
            "Each names labels that come together at least {} times as often as if they were independent, in at least "
            "{} "
            "patients, and more often than chance does anywhere in such a table.",
            least_lift, least_cell);
    }
    if (explanation.evidence && named < all) {
        text += fmt::format("{}{} of {} components that were formed {} nothing of {} own.", text.empty() ? "" : " ",
                            all - named, all, all - named == 1 ? "names" : "name", all - named == 1 ? "its" : "their");
    }
    if (!is_tested(explanation)) return text;
    const Index stable = stable_phenotypes(explanation);
    return text + fmt::format("{}With each site's patients drawn anew {} times, {} of {} come back.",
                              text.empty() ? "" : " ", resamples, stable, named);
}

std::string patients_text(const Explanation& explanation, const Component& component) {
    if (component.carriers) {
        const Carriers& carriers = *component.carriers;
        std::vector<std::string> sites;
        for (std::size_t k = 0; k < carriers.sites.size(); ++k) {
            const auto& known = explanation.findings.sites;
            const std::string name = k < known.size() ? known[k].name : fmt::format("site {}", k + 1);
            sites.push_back(fmt::format(
                "{} {}", name,
                carriers.sites[k] ? grouped(*carriers.sites[k]) : fmt::format("fewer than {}", least_cell)));
        }
        const std::string all =
            carriers.all ? counted(*carriers.all, "patient", "patients") : std::string("patients by site");
        return fmt::format("{} ({})", all, fmt::join(sites, ", "));
    }
    const auto most = std::max_element(component.pairs.begin(), component.pairs.end(),
                                       [](const auto& a, const auto& b) { return a.patients < b.patients; });
    if (most == component.pairs.end() || most->patients == 0) return "";
    return fmt::format("{} or more", counted(most->patients, "patient", "patients"));
}

}  // namespace couplet
