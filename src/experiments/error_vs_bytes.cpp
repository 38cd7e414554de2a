#include <fmt/format.h>

#include <algorithm>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index clients = 4;
const std::vector<DataId> data_sets{DataId::synthetic3, DataId::diabetes, DataId::ecg};

std::string figure_of(DataId id) { return fmt::format("rse_{}", static_cast<int>(id)); }

/// Ours and the printed method at several ranks.
void measure_ranks(Collector& collect, const ExperimentData& data) {
    const MemorySource source = data.split(clients);
    const auto add = [&](const char* method, Index rank, const JobOptions& job) {
        const auto result = simulate(source, {.job = job});
        collect.add_measured(figure_of(data.id), method, "", static_cast<double>(rank), total_bytes(result),
                             result.rse);
    };
    for (const Index part : {10, 6, 4, 3, 2, 1}) {
        const Index rank = std::max<Index>(1, data.rank / part);
        add("ctt-star", rank, couplet_star(rank));
        add("ctt-dec", rank, couplet_peers(rank));
        add("printed-star", rank, printed_star(rank));
        add("printed-dec", rank, printed_peers(rank, clients, 3));
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

/// Points of other methods that no point of ours beats in both error and bytes.
std::string finding(const ExperimentResult& result, DataId id) {
    std::vector<std::string> names;
    const auto rows = rows_of(result, figure_of(id));
    for (const Row& row : rows) {
        if (row.method.starts_with("ctt")) continue;
        const bool beaten = std::any_of(rows.begin(), rows.end(), [&](const Row& ours) {
            return ours.method.starts_with("ctt") && ours.x <= row.x && ours.y.mean <= row.y.mean;
        });
        const std::string label(method_style(row.method).label);
        if (!beaten && std::find(names.begin(), names.end(), label) == names.end()) names.push_back(label);
    }
    if (rows.empty()) return "";
    if (names.empty()) {
        return fmt::format("{}: whatever another method reaches, Couplet reaches with fewer bytes.", data_title(id));
    }
    return fmt::format("{}: Couplet beats every point in both error and bytes but some of {}.", data_title(id),
                       fmt::join(names, "; "));
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
            measure_ranks(collect, *data);
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
        "What a byte buys, with four clients. Lines of Couplet and of the printed method (L = 3 among peers) run over "
        "ranks up to that of the other experiments, those of other methods over their rounds at that rank. Down and to "
        "the left is better.",
    .paper = "",
    .data = {DataId::synthetic3, DataId::diabetes, DataId::ecg},
    .run = run};

}  // namespace couplet
