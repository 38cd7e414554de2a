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

void add(Collector& collect, const char* method, const std::string& variant,
         const std::vector<std::vector<double>>& all) {
    for (std::size_t mode = 0; mode < all.size(); ++mode) {
        for (std::size_t i = 0; i < all[mode].size(); ++i) {
            collect.add(fmt::format("mode{}", mode + 2), method, variant, static_cast<double>(i + 1), all[mode][i]);
        }
    }
}

/// Largest difference between two lines of a figure.
double distance(const ExperimentResult& result, const std::string& figure, const std::string& method,
                const std::string& variant) {
    double worst = 0;
    for (const Row& row : rows_of(result, figure)) {
        if (row.method != "centralized") continue;
        const Row* other = find_row(result, figure, method, variant, row.x);
        if (other != nullptr) worst = std::max(worst, std::abs(row.y.mean - other->y.mean));
    }
    return worst;
}

/// The features of the largest variance in the centralized train, by name.
std::string largest(const ExperimentResult& result, const std::string& figure, const std::vector<std::string>& names) {
    std::vector<Row> rows;
    for (const Row& row : rows_of(result, figure)) {
        if (row.method == "centralized") rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.y.mean > b.y.mean; });
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, rows.size()); ++i) {
        const auto index = static_cast<std::size_t>(rows[i].x) - 1;
        parts.push_back(fmt::format("{} ({}, {:.0f}%)", names.at(index), index + 1, 100 * rows[i].y.mean));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

ExperimentResult run(Lab& lab) {
    ExperimentResult result{
        .name = "variances",
        .figures = {{"mode2", "Mode 2: physiological indicators", Chart::lines, {"index"}, {"part of the variance"}},
                    {"mode3", "Mode 3: habits", Chart::lines, {"index"}, {"part of the variance"}}}};
    const auto counts = lab.by_effort<std::vector<Index>>({2, 4, 8}, {4}, {2});
    std::vector<ModeLabels> names;
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats);
    for (Index r = 0; r < lab.settings.repeats; ++r) {
        const auto data = lab.data.open(DataId::diabetes, lab.seed(r));
        if (!data) {
            result.absent.push_back(lab.data.absent(DataId::diabetes));
            return result;
        }
        names = data->dataset.tensor.labels();
        add(collect, "centralized", "",
            shares(*reference_centralized(data->split(1), {.job = couplet_star(data->rank)}).features));
        for (const Index k : counts) {
            const MemorySource source = data->split(k);
            const std::string variant = fmt::format("K = {}", k);
            add(collect, "ctt-star", variant, shares(*simulate(source, {.job = couplet_star(data->rank)}).features));
            add(collect, "printed-star", variant,
                shares(*simulate(source, {.job = printed_star(data->rank)}).features));
        }
        steps.next();
    }
    result.rows = collect.rows();
    const std::string most = fmt::format("K = {}", counts.back());
    for (const char* figure : {"mode2", "mode3"}) {
        const auto& mode = names.at(figure == std::string_view("mode2") ? 1 : 2);
        result.findings.push_back(
            fmt::format("Mode {}: the largest are {}. With {} the variances are off those of the centralized train by "
                        "at most {:.4f} "
                        "of the mode's sum with Couplet and {:.4f} with the printed method.",
                        figure[4], largest(result, figure, mode.entries), most,
                        distance(result, figure, "ctt-star", most), distance(result, figure, "printed-star", most)));
    }
    return result;
}

}  // namespace

extern const Experiment variances_experiment{
    .name = "variances",
    .title = "Variance of the features",
    .about =
        "Every index of a feature mode has a slice of its core; its variance says how much the index matters. Shown as "
        "parts of the mode's sum, because the printed average shrinks the cores.",
    .paper = "Figure: the variance of the features of the second and third mode",
    .data = {DataId::diabetes},
    .run = run};

}  // namespace couplet
