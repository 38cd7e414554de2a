#include "classify_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "couplet/classify/verdict.hpp"
#include "format.hpp"
#include "layout.hpp"

namespace couplet::cli {
namespace {

constexpr std::size_t shown_sites = 12;

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json interval_json(const std::optional<Interval>& interval) {
    return interval ? Json{interval->low, interval->high} : Json(nullptr);
}

/// {NAME: value, NAME_interval: [low, high]}; null where there is none.
void add_estimate(Json& json, const std::string& name, const std::optional<Estimate>& estimate) {
    json[name] = estimate ? Json(estimate->value) : Json(nullptr);
    json[name + "_interval"] = interval_json(estimate ? estimate->interval : std::nullopt);
}

Json calibration_json(const Calibration& calibration) {
    Json bins = Json::array();
    for (const CalibrationBin& bin : calibration.bins) {
        bins.push_back({{"people", bin.people}, {"predicted", bin.predicted}, {"observed", bin.observed}});
    }
    return bins;
}

void add_measures(Json& json, const Measures& measures) {
    json["people"] = measures.people;
    add_estimate(json, "auc", measures.auc);
    json["auc_pairs"] = measures.auc_pairs;
    add_estimate(json, "balanced_accuracy", measures.balanced_accuracy);
    add_estimate(json, "accuracy", measures.accuracy);
    json["majority_share"] = measures.majority;
    json["brier"] = measures.calibration.brier;
    json["calibration_error"] = measures.calibration.error;
    json["confusion"] = measures.confusion;
}

Json classes_json(const Measures& measures, const std::vector<std::string>& names) {
    Json classes = Json::array();
    for (std::size_t c = 0; c < names.size(); ++c) {
        const auto& row = measures.confusion[c];
        const Index own = std::accumulate(row.begin(), row.end(), Index{0});
        Index called = 0;
        for (const auto& other : measures.confusion) called += other[c];
        const auto right = static_cast<double>(row[c]);
        const auto part = [&](Index of) {
            return of > 0 ? std::optional(right / static_cast<double>(of)) : std::nullopt;
        };
        classes.push_back({{"class", names[c]},
                           {"people", own},
                           {"auc", optional_json(measures.class_aucs[c])},
                           {"recall", optional_json(part(own))},
                           {"precision", optional_json(part(called))}});
    }
    return classes;
}

Json result_json(const ClassifyPeople& people, const Evaluation& evaluation, const Outcome& outcome) {
    const Measures all = measure(evaluation, outcome);
    Json json{{"arm", to_string(outcome.arm)}, {"model", to_string(outcome.model)}};
    add_measures(json, all);
    json["calibration"] = calibration_json(all.calibration);
    json["per_class"] = classes_json(all, people.classes.names);
    json["sites"] = Json::array();
    for (std::size_t k = 0; k < people.sites.size(); ++k) {
        Json site{{"site", people.sites[k].name}};
        add_measures(site, measure(evaluation, outcome, static_cast<Index>(k)));
        json["sites"].push_back(std::move(site));
    }
    return json;
}

std::vector<Index> counts_of(const std::vector<Label>& labels, std::size_t classes) {
    std::vector<Index> counts(classes, 0);
    for (const Label label : labels) ++counts[static_cast<std::size_t>(label)];
    return counts;
}

/// Of the people of sites with several classes, those whom an area cannot speak of.
std::optional<std::string> note_of_pairs(const ClassifyPeople& people, const Evaluation& evaluation) {
    Index left = 0;
    for (std::size_t k = 0; k < people.sites.size(); ++k) {
        const auto& labels = people.sites[k].labels;
        if (std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>()) == labels.end()) continue;
        const Measures site = measure(evaluation, evaluation.outcomes.front(), static_cast<Index>(k));
        left += site.people - site.auc_people;
    }
    if (left == 0) return {};
    const Index pairs = measure(evaluation, evaluation.outcomes.front()).auc_pairs;
    return fmt::format(
        "{} of {} people meet no other class in their fold at their site, and are in no area: areas are "
        "of {} pairs; fewer folds make more",
        count_text(left), count_text(static_cast<Index>(evaluation.labels.size())), count_text(pairs));
}

/// Classes that are much more frequent at some sites than at others, where a site has several.
std::optional<std::string> note_of_shares(const ClassifyPeople& people) {
    constexpr double much = 0.2;
    const std::size_t classes = people.classes.names.size();
    for (std::size_t c = 0; c < classes; ++c) {
        double least = 1;
        double most = 0;
        for (const LabelledSite& site : people.sites) {
            const auto own = counts_of(site.labels, classes);
            if (std::count_if(own.begin(), own.end(), [](Index n) { return n > 0; }) < 2) continue;
            const double share = static_cast<double>(own[c]) / static_cast<double>(site.labels.size());
            least = std::min(least, share);
            most = std::max(most, share);
        }
        if (most - least <= much) continue;
        return fmt::format(
            "class {} is {:.0f}% of one site and {:.0f}% of another: accuracies and Brier's score of all people reward "
            "knowing the site, areas do not",
            people.classes.names[c], 100 * least, 100 * most);
    }
    return {};
}

/// What a reader should know before believing the figures.
std::vector<std::string> notes_of(const ClassifyPeople& people, const Evaluation& evaluation,
                                  const EvaluationOptions& how) {
    std::vector<std::string> notes;
    for (const std::string& path : people.unchecked) {
        notes.push_back(
            fmt::format("{} says of no row whose it is: its labels were taken in the order of their table, and "
                        "the table's identifiers compared with nothing",
                        path));
    }
    const std::size_t classes = people.classes.names.size();
    if (const Index left = std::accumulate(people.unlabelled.begin(), people.unlabelled.end(), Index{0}); left > 0) {
        notes.push_back(
            fmt::format("{} {} without a label left out", count_text(left), left == 1 ? "person" : "people"));
    }
    const auto counts = counts_of(evaluation.labels, classes);
    for (std::size_t c = 0; c < classes; ++c) {
        if (counts[c] >= how.folds) continue;
        notes.push_back(fmt::format("class {} has {} {}, fewer than the {} folds", people.classes.names[c], counts[c],
                                    counts[c] == 1 ? "person" : "people", how.folds));
    }
    for (const LabelledSite& site : people.sites) {
        const auto own = counts_of(site.labels, classes);
        if (std::count_if(own.begin(), own.end(), [](Index n) { return n > 0; }) == 1) {
            notes.push_back(
                fmt::format("{} has one class only: no area there, and alone it can learn nothing", site.name));
        }
    }
    if (auto note = note_of_pairs(people, evaluation)) notes.push_back(std::move(*note));
    if (auto note = note_of_shares(people)) notes.push_back(std::move(*note));
    if (people.copies > 0) {
        notes.push_back(
            fmt::format("{} {} another of the same site again, perhaps the same patient: such records are "
                        "in one fold, learned from or tested; the random splits of scores do not keep them together",
                        count_text(people.copies), people.copies == 1 ? "record is" : "records are"));
    }
    if (people.alike > 0) {
        notes.push_back(
            fmt::format("{} {} the same as one of another site; if that is the same patient, it is learned "
                        "from at one site and tested at the other, and the areas are too large",
                        count_text(people.alike), people.alike == 1 ? "record is" : "records are"));
    }
    if (how.learn_from == LearnFrom::all) {
        notes.push_back("the features were learned from the test people's data too (never from their labels)");
    }
    return notes;
}

std::string estimate_text(const std::optional<Estimate>& estimate) {
    if (!estimate) return "-";
    if (!estimate->interval) return fmt::format("{:.3f}", estimate->value);
    return fmt::format("{:.3f} {:.3f}-{:.3f}", estimate->value, estimate->interval->low, estimate->interval->high);
}

std::string arms_table(const Evaluation& evaluation) {
    std::vector<std::vector<std::string>> rows{{"arm", "model", "AUC, 95%", "balanced acc., 95%", "Brier", "ECE"}};
    for (const Outcome& outcome : evaluation.outcomes) {
        const Measures all = measure(evaluation, outcome);
        rows.push_back({to_string(outcome.arm), to_string(outcome.model), estimate_text(all.auc),
                        estimate_text(all.balanced_accuracy), fmt::format("{:.3f}", all.calibration.brier),
                        fmt::format("{:.3f}", all.calibration.error)});
    }
    return table(rows);
}

std::string sites_table(const ClassifyPeople& people, const Evaluation& evaluation) {
    std::vector<std::vector<std::string>> rows{{"AUC at", "people", "majority"}};
    const std::size_t count = std::min(shown_sites, people.sites.size());
    for (std::size_t k = 0; k < count; ++k) {
        rows.push_back({people.sites[k].name, count_text(people.sites[k].data.shape()[0])});
    }
    for (const Outcome& outcome : evaluation.outcomes) {
        if (outcome.model != ModelKind::logistic) continue;
        rows[0].push_back(to_string(outcome.arm));
        for (std::size_t k = 0; k < count; ++k) {
            const Measures site = measure(evaluation, outcome, static_cast<Index>(k));
            if (rows[k + 1].size() == 2) rows[k + 1].push_back(fmt::format("{:.1f}%", 100 * site.majority));
            rows[k + 1].push_back(site.auc ? fmt::format("{:.3f}", site.auc->value) : "-");
        }
    }
    std::string text = "Logistic regression, site by site\n\n" + table(rows);
    if (count < people.sites.size()) text += fmt::format("... and {} more, in --json\n", people.sites.size() - count);
    return text;
}

std::string gain_text(const Evaluation& evaluation) {
    std::vector<std::string> parts;
    for (const ArmComparison& one : compare_arms(evaluation)) {
        if (one.model != ModelKind::logistic) continue;
        std::string text =
            fmt::format("{} - {} {:+.3f}", to_string(one.arm), to_string(one.against), one.auc_difference.value);
        if (const auto& interval = one.auc_difference.interval) {
            text += fmt::format(" ({:+.3f} to {:+.3f})", interval->low, interval->high);
        }
        parts.push_back(std::move(text));
    }
    return parts.empty() ? "no area: no fold of a site has two classes" : fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace

Json evaluation_json(const ClassifyPeople& people, const Evaluation& evaluation, const EvaluationOptions& how) {
    const std::size_t classes = people.classes.names.size();
    Json json{{"class_names", people.classes.names},
              {"class_counts", counts_of(evaluation.labels, classes)},
              {"people", evaluation.labels.size()},
              {"unlabelled", std::accumulate(people.unlabelled.begin(), people.unlabelled.end(), Index{0})},
              {"folds", how.folds},
              {"rank", evaluation.rank},
              {"neighbours", how.neighbours},
              {"ridge", how.ridge},
              {"decide", to_string(how.decision)},
              {"learn_from", to_string(how.learn_from)},
              {"confidence", 0.95}};
    json["sites"] = Json::array();
    for (std::size_t k = 0; k < people.sites.size(); ++k) {
        json["sites"].push_back({{"site", people.sites[k].name},
                                 {"people", people.sites[k].labels.size()},
                                 {"unlabelled", people.unlabelled[k]},
                                 {"class_counts", counts_of(people.sites[k].labels, classes)}});
    }
    json["results"] = Json::array();
    for (const Outcome& outcome : evaluation.outcomes) {
        json["results"].push_back(result_json(people, evaluation, outcome));
    }
    const SkillVerdict verdict = verdict_of(evaluation);
    json["verdict"] = {{"sentence", verdict.sentence},
                       {"beats_guessing", verdict.beats_guessing},
                       {"beats_alone", verdict.beats_alone}};
    json["comparisons"] = Json::array();
    for (const ArmComparison& one : compare_arms(evaluation)) {
        Json comparison{
            {"model", to_string(one.model)}, {"arm", to_string(one.arm)}, {"against", to_string(one.against)}};
        add_estimate(comparison, "auc_difference", one.auc_difference);
        json["comparisons"].push_back(std::move(comparison));
    }
    json["notes"] = notes_of(people, evaluation, how);
    return json;
}

std::string evaluation_text(const ClassifyPeople& people, const Evaluation& evaluation, const EvaluationOptions& how) {
    const auto counts = counts_of(evaluation.labels, people.classes.names.size());
    std::vector<std::string> classes;
    for (std::size_t c = 0; c < counts.size(); ++c) {
        classes.push_back(fmt::format("{}: {}", people.classes.names[c], count_text(counts[c])));
    }
    const double most = static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
                        static_cast<double>(evaluation.labels.size());
    double best = 0;
    for (const Outcome& outcome : evaluation.outcomes)
        best = std::max(best, measure(evaluation, outcome).accuracy.value);
    std::vector<std::pair<std::string, std::string>> rows{
        {"verdict", verdict_of(evaluation).sentence},
        {"AUC gained", gain_text(evaluation)},
        {"people",
         fmt::format("{} at {} {}, {} folds, rank {}", count_text(static_cast<Index>(evaluation.labels.size())),
                     people.sites.size(), people.sites.size() == 1 ? "site" : "sites", how.folds, evaluation.rank)},
        {"classes", fmt::format("{}", fmt::join(classes, ", "))},
        {"accuracy", fmt::format("{:.1f}% at best{}; always the most frequent class: {:.1f}%", 100 * best,
                                 how.decision == Decision::balanced ? ", as predictions serve balanced accuracy" : "",
                                 100 * most)}};
    for (const std::string& note : notes_of(people, evaluation, how)) rows.push_back({"note", note});
    return arms_table(evaluation) + "\n" + sites_table(people, evaluation) + "\n" + fields(rows);
}

}  // namespace couplet::cli
