#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "couplet/experiments/classify.hpp"
#include "couplet/experiments/feature_variance.hpp"
#include "couplet/experiments/federate.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index shown_features = 5;  // m of the paper's left figure

std::string style_of(const std::string& method) {
    if (method == "ctt") return "ctt-star";
    return method == "printed" ? "printed-star" : method;
}

Row row_at(const std::string& figure, const std::string& method, const std::string& variant, double x,
           const Statistic& y) {
    return {.figure = figure, .method = method, .variant = variant, .x = x, .y = y};
}

void add_rows(ExperimentResult& result, const ClassificationResult& scores, const std::vector<Index>& clients,
              Index shown_clients) {
    for (const auto& score : scores.scores) {
        const std::string method = style_of(score.method);
        const bool federated = score.method != "centralized";
        if (score.classifier == Classifier::knn_features && score.features == shown_features) {
            // One decomposition of all data is the same for every K: a line to compare with.
            for (const Index k : federated ? std::vector<Index>{score.clients} : clients) {
                result.rows.push_back(row_at("clients", method, "training", static_cast<double>(k), score.training));
                result.rows.push_back(row_at("clients", method, "test", static_cast<double>(k), score.test));
            }
        }
        if (federated && score.clients != shown_clients) continue;
        if (score.classifier == Classifier::knn_features) {
            result.rows.push_back(row_at("features", method, "", static_cast<double>(score.features), score.test));
        } else {
            result.rows.push_back({.figure = "personal",
                                   .method = method,
                                   .category = score.classifier == Classifier::knn_personal ? "k nearest neighbours"
                                                                                            : "logistic regression",
                                   .y = score.test});
        }
    }
    result.rows.push_back(
        {.figure = "personal", .method = "majority", .category = "always the same class", .y = scores.majority});
}

/// How far the federated features are from the centralized ones at most, and what guessing gives.
std::string classification_finding(const ClassificationResult& scores) {
    double best = 0;
    double apart = 0;
    std::map<Index, double> centralized;
    for (const auto& score : scores.scores) {
        best = std::max(best, score.test.mean);
        if (score.classifier == Classifier::knn_features && score.method == "centralized") {
            centralized[score.features] = score.test.mean;
        }
    }
    for (const auto& score : scores.scores) {
        if (score.classifier != Classifier::knn_features || score.method != "ctt") continue;
        apart = std::max(apart, std::abs(score.test.mean - centralized[score.features]));
    }
    return fmt::format(
        "Couplet's features classify within {:.1f} points of centralized ones. But always guessing the most frequent "
        "class is right for {:.1f}% of the people, and the best of all classifiers here for {:.1f}%: accuracy on this "
        "data set says little about features.",
        100 * apart, 100 * scores.majority.mean, 100 * best);
}

/// Which modes the indices kept come from.
std::string modes_finding(const ExperimentData& data, Index rank, Index most) {
    const auto features = reference_centralized(data.split(1), {.job = couplet_star(rank)}).features;
    const auto kept = most_variable(feature_variances(*features), most);
    std::vector<std::string> names;
    for (const FeatureIndex& at : kept) {
        const auto& mode = data.dataset.tensor.labels().at(static_cast<std::size_t>(at.mode) + 1);
        names.push_back(mode.entries.at(static_cast<std::size_t>(at.index)));
    }
    const auto physiological =
        std::count_if(kept.begin(), kept.end(), [](const FeatureIndex& index) { return index.mode == 0; });
    return fmt::format(
        "Of the {} indices of largest variance ({}) {} are physiological indicators (mode 2) and {} habits (mode 3): a "
        "slice of the core of mode 2 has R1 R2 numbers and one of mode 3 only R2, among which the same norm is spread, "
        "so "
        "that variances of mode 3 are larger whatever the data.",
        kept.size(), fmt::join(names, ", "), physiological, static_cast<std::ptrdiff_t>(kept.size()) - physiological);
}

ExperimentResult run_classification(Lab& lab) {
    ExperimentResult result{
        .name = "classification",
        .figures = {{"clients", "Training and test, five features", Chart::lines, {"clients K"}, {"accuracy"}},
                    {"features", "Test, by number of features", Chart::lines, {"features kept, m"}, {"accuracy"}},
                    {"personal", "Test, on the personal cores", Chart::dots, {}, {"accuracy"}}}};
    const auto data = lab.data.open(DataId::diabetes, lab.settings.seed);
    if (!data) {
        result.absent.push_back(lab.data.absent(DataId::diabetes));
        return result;
    }
    ClassificationOptions how{
        .features = lab.by_effort<std::vector<Index>>({1, 2, 3, 5, 7, 10, 15, 20}, {2, 5, 10}, {5}),
        .splits = lab.by_effort<Index>(10, 3, 2),
        .clients = lab.by_effort<std::vector<Index>>({2, 4, 6, 8, 10}, {2, 4, 8}, {2}),
        .seed = lab.settings.seed,
        .progress = lab.settings.progress};
    how.rank = std::min(data->rank, largest_rank(data->dataset, how));
    const ClassificationResult scores = classify(data->dataset, how);
    add_rows(result, scores, how.clients, how.clients[how.clients.size() / 2]);
    result.findings.push_back(classification_finding(scores));
    result.findings.push_back(modes_finding(*data, how.rank, how.features.back()));
    return result;
}

}  // namespace

extern const Experiment classification_experiment{
    .name = "classification",
    .title = "Classification",
    .about =
        "People with no diabetes, prediabetes or diabetes: the m indices of largest variance over all feature modes "
        "are kept, and the five nearest training people vote. Cores are learned on the training people only; the "
        "repeats are ten random splits, seven to three (three splits in a quick run). Beside it the personal cores, "
        "with nearest neighbours and logistic regression.",
    .paper = "Figure: training and test accuracy",
    .data = {DataId::diabetes},
    .run = run_classification};

}  // namespace couplet
