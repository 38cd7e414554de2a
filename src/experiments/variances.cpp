#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/experiments/feature_variance.hpp"
#include "couplet/experiments/federate.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

/// Variances as parts of their mode's sum, so that methods of different scale can be compared.
std::vector<std::vector<double>> shares(const Features& features) {
    auto all = feature_variances(features);
    for (auto& mode : all) {
        const double sum = std::accumulate(mode.begin(), mode.end(), 0.0);
        for (double& value : mode) value = sum > 0 ? value / sum : 0;
    }
    return all;
}

void add(Collector& collect, const std::vector<ModeLabels>& names, const char* method, const std::string& variant,
         const std::vector<std::vector<double>>& all) {
    for (std::size_t mode = 0; mode < all.size(); ++mode) {
        for (std::size_t i = 0; i < all[mode].size(); ++i) {
            collect.add_dot(fmt::format("mode{}", mode + 2), method, names.at(mode + 1).entries.at(i), all[mode][i],
                            variant);
        }
    }
}

/// The centralized variance of a feature.
double centralized(const std::vector<Row>& rows, const std::string& feature) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
        return row.method == "centralized" && row.category == feature;
    });
    return at == rows.end() ? 0 : at->y.mean;
}

/// The features of the largest variance first, as they are drawn.
void sort_by_variance(std::vector<Row>& rows) {
    const std::vector<Row> all = rows;
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        return a.figure != b.figure ? a.figure < b.figure : centralized(all, a.category) > centralized(all, b.category);
    });
}

/// Largest difference between two methods of a figure.
double distance(const ExperimentResult& result, const std::string& figure, const std::string& method,
                const std::string& variant) {
    const auto rows = rows_of(result, figure);
    double worst = 0;
    for (const Row& row : rows) {
        if (row.method != method || row.variant != variant) continue;
        worst = std::max(worst, std::abs(row.y.mean - centralized(rows, row.category)));
    }
    return worst;
}

/// The features of the largest variance in the centralized train, by name.
std::string largest(const ExperimentResult& result, const std::string& figure) {
    std::vector<std::string> parts;
    for (const Row& row : rows_of(result, figure)) {
        if (row.method != "centralized" || parts.size() == 4) continue;
        parts.push_back(fmt::format("{} ({:.0f}%)", row.category, 100 * row.y.mean));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

ExperimentResult run_variances(Lab& lab) {
    ExperimentResult result{
        .name = "variances",
        .figures = {
            {"mode2", "Mode 2: physiological indicators", Chart::dots, {"indicator"}, {"part of the mode's variance"}},
            {"mode3", "Mode 3: habits", Chart::dots, {"habit"}, {"part of the mode's variance"}}}};
    const auto counts = lab.by_effort<std::vector<Index>>({2, 4, 8}, {4}, {2});
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats);
    for (Index r = 0; r < lab.settings.repeats; ++r) {
        const auto data = lab.data.open(DataId::diabetes, lab.seed(r));
        if (!data) {
            result.absent.push_back(lab.data.absent(DataId::diabetes));
            return result;
        }
        const auto& names = data->dataset.tensor.labels();
        add(collect, names, "centralized", "",
            shares(*reference_centralized(data->split(1), {.job = couplet_star(data->rank)}).features));
        for (const Index k : counts) {
            const MemorySource source = data->split(k);
            const std::string variant = fmt::format("K = {}", k);
            add(collect, names, "ctt-star", variant,
                shares(*simulate(source, {.job = couplet_star(data->rank)}).features));
            add(collect, names, "printed-star", variant,
                shares(*simulate(source, {.job = printed_star(data->rank)}).features));
        }
        steps.next();
    }
    result.rows = collect.rows();
    sort_by_variance(result.rows);
    const std::string most = fmt::format("K = {}", counts.back());
    for (const char* figure : {"mode2", "mode3"}) {
        result.findings.push_back(fmt::format(
            "Mode {}: the largest are {}. With {} the variances are off those of the centralized train by at most "
            "{:.4f} of the mode's sum with Couplet and {:.4f} with the CTT of Zhang et al. 2024.",
            figure[4], largest(result, figure), most, distance(result, figure, "ctt-star", most),
            distance(result, figure, "printed-star", most)));
    }
    return result;
}

}  // namespace

extern const Experiment variances_experiment{
    .name = "variances",
    .title = "Variance of the features",
    .about =
        "Every index of a feature mode has a slice of its core; its variance says how much the index matters. Shown as "
        "parts of the mode's sum, because the average of Zhang et al. 2024 shrinks the cores.",
    .paper = "Figure: the variance of the features of the second and third mode",
    .data = {DataId::diabetes},
    .run = run_variances};

}  // namespace couplet
