#include <fmt/format.h>

#include <algorithm>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

const std::vector<DataId> nodes_data_sets{DataId::diabetes, DataId::ecg};

const char* suffix(DataId id) { return id == DataId::diabetes ? "diabetes" : "ecg"; }

void add(Collector& collect, DataId id, const std::string& method, Index clients, double rse, double seconds) {
    collect.add(fmt::format("rse_{}", suffix(id)), method, "", static_cast<double>(clients), rse);
    collect.add(fmt::format("seconds_{}", suffix(id)), method, "", static_cast<double>(clients), seconds);
}

void add(Collector& collect, DataId id, const std::string& method, Index clients, const SimulationResult& result) {
    add(collect, id, method, clients, result.rse, federation_seconds(result));
}

void measure_ours(Collector& collect, const ExperimentData& data, Index clients) {
    const MemorySource source = data.split(clients);
    add(collect, data.id, "ctt-star", clients, simulate(source, {.job = couplet_star(data.rank)}));
    add(collect, data.id, "ctt-dec", clients, simulate(source, {.job = couplet_peers(data.rank)}));
    add(collect, data.id, "printed-star", clients, simulate(source, {.job = printed_star(data.rank)}));
    add(collect, data.id, "printed-dec", clients, simulate(source, {.job = printed_peers(data.rank, clients, 3)}));
    add(collect, data.id, "centralized", clients, reference_centralized(source, {.job = couplet_star(data.rank)}));
}

/// Where ours is at the largest number of clients.
std::string nodes_finding(const ExperimentResult& result, DataId id, Index clients) {
    const std::string figure = fmt::format("rse_{}", suffix(id));
    const Row* best = nullptr;
    for (const Row& row : result.rows) {
        const bool other = row.method != "ctt-star" && row.method != "ctt-dec" && row.method != "centralized";
        if (row.figure != figure || row.x != static_cast<double>(clients) || !other) continue;
        if (best == nullptr || row.y.mean < best->y.mean) best = &row;
    }
    const Row* ours = find_row(result, figure, "ctt-star", "", static_cast<double>(clients));
    if (best == nullptr || ours == nullptr) return "";
    return fmt::format("{}, {} clients: RSE {} with Couplet in a star; the best of the others, {}, has {}.",
                       data_title(id), clients, short_number(ours->y.mean), method_style(best->method).label,
                       short_number(best->y.mean));
}

ExperimentResult run_nodes(Lab& lab) {
    ExperimentResult result{.name = "nodes"};
    const auto counts = lab.by_effort<std::vector<Index>>({2, 4, 6, 8, 10}, {2, 4, 8}, {2, 3});
    // Methods that train for minutes on the larger data are run for fewer places there, and once.
    const auto few = lab.by_effort<std::vector<Index>>({2, 4, 8}, {4}, {2});
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(counts.size() * nodes_data_sets.size()));
    for (const DataId id : nodes_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        const Axis x{"clients K"};
        const std::string name(data_title(id));
        result.figures.push_back({fmt::format("rse_{}", suffix(id)), name + ": error", Chart::lines, x, {"RSE", true}});
        result.figures.push_back({fmt::format("seconds_{}", suffix(id)),
                                  name + ": time",
                                  Chart::lines,
                                  x,
                                  {"seconds, slowest client and server", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            const auto data = lab.data.open(id, lab.seed(r));
            for (const Index clients : counts) {
                measure_ours(collect, *data, clients);
                const bool all =
                    id == DataId::diabetes || (r == 0 && std::find(few.begin(), few.end(), clients) != few.end());
                for (const Method method : MethodBench::methods(3)) {
                    if (is_cp(method) && !all) continue;
                    const auto& one = lab.methods.run(method, *data, lab.seed(r), clients, lab.settings.seed, lab.data);
                    add(collect, id, std::string(to_string(method)), clients, one.rse, one.seconds);
                }
                steps.next();
            }
        }
    }
    result.rows = collect.rows();
    for (const DataId id : nodes_data_sets) {
        if (auto sentence = nodes_finding(result, id, few.back()); !sentence.empty())
            result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment nodes_experiment{
    .name = "nodes",
    .title = "Number of nodes, with all methods",
    .about =
        "Error and time as the same people are spread over more clients. The methods of other papers have the best of "
        "twelve settings each (quick runs: what is kept from an earlier tuning, or their defaults) and may exchange up "
        "to 75 times (20 in a quick run); their time is that of all rounds. On ECG those that train run once, and for "
        "fewer "
        "numbers "
        "of clients. Printed peers iterate L = 3 times.",
    .paper = "Figures: RSE, and CPU time, as a function of the number of nodes",
    .data = {DataId::diabetes, DataId::ecg},
    .run = run_nodes};

}  // namespace couplet
