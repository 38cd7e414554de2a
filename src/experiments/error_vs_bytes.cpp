#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index clients = 4;
const std::vector<DataId> data_sets{DataId::synthetic3, DataId::diabetes, DataId::ecg};

std::string figure_of(DataId id) { return fmt::format("rse_{}", static_cast<int>(id)); }

// Ours begins with as many bytes as messages of a few hundred each take, and doubles them up to a part of the data.
constexpr double least_bytes = 2000;
constexpr double most_part = 0.1;

/// Ours with one budget of bytes after the other, which chooses rank and precision.
void measure_budgets(Collector& collect, const ExperimentData& data) {
    const MemorySource source = data.split(clients);
    double raw = 0;
    for (Index k = 0; k < clients; ++k) raw += static_cast<double>(sizeof(double) * source.client(k)->size());
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
    const MemorySource source = data.split(clients);
    const auto add = [&](const char* method, Index rank, const JobOptions& job) {
        const auto result = simulate(source, {.job = job});
        collect.add_measured(figure_of(data.id), method, "", static_cast<double>(rank), total_bytes(result),
                             result.rse);
    };
    for (const Index part : {10, 6, 4, 3, 2, 1}) {
        const Index rank = std::max<Index>(1, data.rank / part);
        add("printed-star", rank, printed_star(rank));
        add("printed-dec", rank, printed_peers(rank, clients, 3));
        const auto masked = bench.run_plain(Method::fedsvd, source, rank, 0);
        collect.add_measured(figure_of(data.id), "fedsvd", "", static_cast<double>(rank), masked.bytes, masked.rse);
    }
}

/// The methods that train in rounds, at the full rank, as they go.
void measure_traces(Collector& collect, Lab& lab, const ExperimentData& data, Index repeat) {
    for (const Method method : MethodBench::methods(3)) {
        const auto& one = lab.methods.run(method, data, lab.seed(repeat), clients, lab.settings.seed, lab.data);
        for (const TracePoint& point : one.trace) {
            if (point.round == 0 || point.bytes <= 0) continue;
            collect.add_measured(figure_of(data.id), std::string(to_string(method)), "",
                                 static_cast<double>(point.round), point.bytes, point.rse);
        }
    }
}

/// Methods that train whose least error ours does not reach with as many bytes.
std::vector<std::string> better_with_few(const std::vector<Row>& rows) {
    std::vector<std::string> parts;
    for (const MethodStyle& style : method_styles()) {
        if (!MethodBench::trains(style.id)) continue;
        const auto best = least_within(rows, std::string(style.id), std::numeric_limits<double>::infinity());
        if (!best) continue;
        double bytes = 0;
        for (const Row& row : rows) {
            if (row.method == style.id && row.y.mean == *best) bytes = row.x;
        }
        const auto ours = least_within(rows, "ctt-star", bytes);
        if (ours && *ours <= *best) continue;  // ours has reached it with as many bytes
        parts.push_back(fmt::format("{} ({} with {} bytes{})", style.label, rse_text(*best), short_number(bytes),
                                    ours ? ", Couplet then " + rse_text(*ours) : ", fewer than Couplet can send"));
    }
    return parts;
}

std::string finding(const ExperimentResult& result, DataId id) {
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
    if (better.empty()) return text + " Whatever another method reaches, it reaches with fewer bytes.";
    return text + fmt::format(" With few bytes others are better: {}.", fmt::join(better, "; "));
}

ExperimentResult run(Lab& lab) {
    ExperimentResult result{.name = "error_vs_bytes"};
    Collector collect;
    Steps steps(lab, result.name, static_cast<Index>(data_sets.size()) * lab.settings.repeats);
    for (const DataId id : data_sets) {
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
    result.rows = collect.rows();
    for (const DataId id : data_sets) {
        if (auto sentence = finding(result, id); !sentence.empty()) result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment error_vs_bytes_experiment{
    .name = "error_vs_bytes",
    .title = "Error against bytes",
    .about =
        "What a byte buys, with four clients. Lines of Couplet run over budgets of bytes, which choose rank and "
        "precision; those of the printed method (L = 3 among peers) and of FedSVD over ranks up to that of the other "
        "experiments, those of methods that train over their rounds at that rank. Down and to the left is better.",
    .paper = "",
    .data = {DataId::synthetic3, DataId::diabetes, DataId::ecg},
    .run = run};

}  // namespace couplet
