#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index error_vs_bytes_clients = 4;
const std::vector<DataId> error_vs_bytes_data_sets{DataId::synthetic3, DataId::synthetic4, DataId::diabetes,
                                                   DataId::ecg, DataId::cms};

std::string figure_of(DataId id) { return fmt::format("rse_{}", static_cast<int>(id)); }

// Ours begins with as many bytes as messages of a few hundred each take, and doubles them up to a part of the data.
constexpr double least_bytes = 2000;
constexpr double most_part = 0.1;
// More than any method takes.
constexpr Index most_rounds = 1000;

/// Ours with one budget of bytes after the other, which chooses rank and precision.
void measure_budgets(Collector& collect, const ExperimentData& data) {
    const MemorySource source = data.split(error_vs_bytes_clients);
    double raw = 0;
    for (Index k = 0; k < error_vs_bytes_clients; ++k)
        raw += static_cast<double>(sizeof(double) * source.client(k)->size());
    const auto add = [&](const char* method, Network network, double budget) {
        JobOptions job{.network = network};
        job.bytes_total = static_cast<Index>(budget);
        const auto result = simulate(source, {.job = job});
        collect.add_measured(figure_of(data.id), method, "", budget, total_bytes(result), result.rse);
    };
    const double most = std::max(most_part * raw, 8 * least_bytes);
    for (double budget = least_bytes; budget <= most; budget *= 2) {
        add("ctt-star", Network::star, budget);
        add("ctt-dec", Network::decentralized, budget);
    }
}

/// The printed method and FedSVD at several ranks.
void measure_ranks(Collector& collect, const MethodBench& bench, const ExperimentData& data) {
    const MemorySource source = data.split(error_vs_bytes_clients);
    const auto add = [&](const char* method, Index rank, const JobOptions& job) {
        const auto result = simulate(source, {.job = job});
        collect.add_measured(figure_of(data.id), method, "", static_cast<double>(rank), total_bytes(result),
                             result.rse);
    };
    for (const Index part : {10, 6, 4, 3, 2, 1}) {
        const Index rank = std::max<Index>(1, data.rank / part);
        add("printed-star", rank, printed_star(rank));
        add("printed-dec", rank, printed_peers(rank, error_vs_bytes_clients, 3));
        const auto masked = bench.run_plain(Method::fedsvd, source, rank, 0);
        collect.add_measured(figure_of(data.id), "fedsvd", "", static_cast<double>(rank), masked.bytes, masked.rse);
    }
}

/// CP ranks of the methods that train.
std::vector<Index> trained_ranks(const Lab& lab, const ExperimentData& data) {
    return lab.by_effort<std::vector<Index>>({10, 20, 50}, {10, data.rank}, {data.rank / 2, data.rank});
}

/// The methods that train in rounds, as they go, at each of their ranks.
void measure_traces(Collector& collect, Lab& lab, const ExperimentData& data, Index repeat) {
    for (const Method method : MethodBench::methods(data.dataset.tensor.shape().order())) {
        if (!is_cp(method)) continue;
        for (const Index rank : trained_ranks(lab, data)) {
            const auto& one = lab.methods.run_at(rank, method, data, lab.seed(repeat), error_vs_bytes_clients,
                                                 lab.settings.seed, lab.data);
            for (const TracePoint& point : one.trace) {
                if (point.round == 0 || point.bytes <= 0) continue;
                collect.add_measured(figure_of(data.id), std::string(to_string(method)), "",
                                     static_cast<double>(rank * most_rounds + point.round), point.bytes, point.rse);
            }
        }
    }
}

/// Of the points of a method that trains, over all its ranks, those that no other of them is ahead of; the rest as it
/// is.
std::vector<Row> lower_left(std::vector<Row> rows) {
    std::vector<Row> left;
    std::vector<Row> trained;
    for (Row& row : rows) (MethodBench::trains(row.method) ? trained : left).push_back(std::move(row));
    std::ranges::stable_sort(trained, {},
                             [](const Row& row) { return std::tuple(row.figure, row.method, row.x, row.y.mean); });
    for (Row& row : trained) {
        const bool same = !left.empty() && left.back().figure == row.figure && left.back().method == row.method;
        if (!same || row.y.mean < left.back().y.mean) left.push_back(std::move(row));
    }
    return left;
}

/// Of every method that trains, the point that is furthest ahead of ours with as many bytes.
std::vector<std::string> better_with_few(const std::vector<Row>& rows) {
    std::vector<std::string> parts;
    for (const MethodStyle& style : method_styles()) {
        if (!MethodBench::trains(style.id)) continue;
        const Row* furthest = nullptr;
        double ahead = 1;
        for (const Row& row : rows) {
            const auto ours = least_within(rows, "ctt-star", row.x);
            if (row.method != style.id || row.x < least_bytes || (ours && ahead * row.y.mean >= *ours)) continue;
            ahead = ours ? *ours / row.y.mean : std::numeric_limits<double>::infinity();
            furthest = &row;
        }
        if (furthest == nullptr) continue;
        const auto ours = least_within(rows, "ctt-star", furthest->x);
        parts.push_back(fmt::format("{} ({} with {} bytes{})", style.label, rse_text(furthest->y.mean),
                                    short_number(furthest->x),
                                    ours ? ", Couplet then " + rse_text(*ours) : ", fewer than Couplet can send"));
    }
    return parts;
}

std::string error_vs_bytes_finding(const ExperimentResult& result, DataId id) {
    const auto rows = rows_of(result, figure_of(id));
    const Row* least = nullptr;
    for (const Row& row : rows) {
        if (least == nullptr || row.y.mean < least->y.mean) least = &row;
    }
    const auto ours = least_within(rows, "ctt-star", std::numeric_limits<double>::infinity());
    if (least == nullptr || !ours) return "";
    std::string text(data_title(id));
    text += rse_text(*ours) == rse_text(least->y.mean)
                ? fmt::format(": nobody is below Couplet's {}.", rse_text(*ours))
                : fmt::format(": the least error, {}, is that of {}; Couplet's star reaches {}.",
                              rse_text(least->y.mean), method_style(least->method).label, rse_text(*ours));
    const auto better = better_with_few(rows);
    if (better.empty()) return text + " No method that trains is ahead of it at any number of bytes.";
    return text + fmt::format(" With few bytes others are better: {}.", fmt::join(better, "; "));
}

ExperimentResult run_error_vs_bytes(Lab& lab) {
    ExperimentResult result{.name = "error_vs_bytes"};
    Collector collect;
    Steps steps(lab, result.name, static_cast<Index>(error_vs_bytes_data_sets.size()) * lab.settings.repeats);
    for (const DataId id : error_vs_bytes_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        result.figures.push_back(
            {figure_of(id), std::string(data_title(id)), Chart::lines, {"bytes, all links", true}, {"RSE", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            const auto data = lab.data.open(id, lab.seed(r));
            measure_budgets(collect, *data);
            measure_ranks(collect, lab.methods, *data);
            measure_traces(collect, lab, *data, r);
            steps.next();
        }
    }
    result.rows = lower_left(collect.rows());
    for (const DataId id : error_vs_bytes_data_sets) {
        if (auto sentence = error_vs_bytes_finding(result, id); !sentence.empty())
            result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment error_vs_bytes_experiment{
    .name = "error_vs_bytes",
    .title = "Error against bytes",
    .about =
        "What a byte buys, with four clients. Lines of Couplet run over budgets of bytes, which choose rank and "
        "precision; those of the CTT of Zhang et al. 2024 (L = 3 among peers) and of FedSVD over ranks up to that of "
        "the other "
        "experiments, those of methods that train over their rounds, the best of several ranks each. Down and to the "
        "left is better.",
    .paper = "",
    .data = {DataId::synthetic3, DataId::synthetic4, DataId::diabetes, DataId::ecg, DataId::cms},
    .run = run_error_vs_bytes};

}  // namespace couplet
