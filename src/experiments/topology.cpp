#include <fmt/format.h>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/weights.hpp"
#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

std::string graph_of(double density) { return density >= 1 ? "complete" : fmt::format("random:{}", density); }

/// The paper's method over L on a graph of density S, with the weights that it has for such graphs.
void measure_printed(Collector& collect, const ExperimentData& data, Index clients, double density,
                     const std::vector<Index>& iterations, std::uint64_t seed) {
    const MemorySource source = data.split(clients);
    const std::string variant = density >= 1 ? "S = 1, magic square" : fmt::format("S = {}, eq. M", density);
    for (const Index l : iterations) {
        JobOptions job = printed_peers(data.rank, clients, l, graph_of(density));
        job.seed = seed;
        const auto result = simulate(source, {.job = job});
        const auto x = static_cast<double>(l);
        collect.add("rse", "printed-dec", variant, x, result.rse);
        collect.add("rse_table", "printed-paper", variant, x, table_rse(source, job));
        collect.add("numbers_total", "printed-dec", variant, x, result.numbers_total);
    }
}

/// Ours and the stars on graphs with names.
void measure_named(Collector& collect, const ExperimentData& data, Index clients, std::uint64_t seed) {
    const MemorySource source = data.split(clients);
    const auto add = [&](const char* method, const std::string& category, JobOptions job) {
        job.seed = seed;
        const auto result = simulate(source, {.job = job});
        collect.add_dot("graphs_rse", method, category, result.rse);
        collect.add_dot("graphs_numbers", method, category, result.numbers_total);
    };
    add("printed-star", "star", printed_star(data.rank));
    add("ctt-star", "star", couplet_star(data.rank));
    for (const std::string graph : {"complete", "random:0.5", "grid", "ring", "path"}) {
        add("printed-dec", graph, printed_peers(data.rank, clients, 3, graph));
        add("ctt-dec", graph, couplet_peers(data.rank, graph));
    }
}

ExperimentResult run_topology(Lab& lab) {
    const Axis x{"consensus iterations L", true};
    ExperimentResult result{
        .name = "topology",
        .figures = {{"rse_table", "Zhang et al. 2024, evaluated as the paper's tables", Chart::lines, x, {"RSE"}},
                    {"rse", "Zhang et al. 2024, every node with its own state", Chart::lines, x, {"RSE"}},
                    {"numbers_total", "Zhang et al. 2024, all links together", Chart::lines, x, {"numbers", true}},
                    {"graphs_rse", "Named graphs: error", Chart::dots, {}, {"RSE", true}},
                    {"graphs_numbers", "Named graphs: all links together", Chart::dots, {}, {"numbers", true}}}};
    const auto clients = lab.by_effort<Index>(8, 8, 4);
    const auto densities = lab.by_effort<std::vector<double>>({1, 0.8, 0.6, 0.4}, {1, 0.4}, {1, 0.6});
    const auto iterations = lab.by_effort<std::vector<Index>>({1, 2, 3, 5, 8, 12, 20, 40}, {1, 3, 8, 20}, {1, 2});
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats);
    for (Index r = 0; r < lab.settings.repeats; ++r) {
        const auto data = lab.data.open(DataId::diabetes, lab.seed(r));
        if (!data) {
            result.absent.push_back(lab.data.absent(DataId::diabetes));
            return result;
        }
        for (const double density : densities)
            measure_printed(collect, *data, clients, density, iterations, lab.seed(r));
        measure_named(collect, *data, clients, lab.seed(r));
        steps.next();
    }
    result.rows = collect.rows();
    const Row* complete = find_category(result, "graphs_numbers", "ctt-dec", "complete");
    const Row* ring = find_category(result, "graphs_numbers", "ctt-dec", "ring");
    const Row* rse_complete = find_category(result, "graphs_rse", "ctt-dec", "complete");
    const Row* rse_ring = find_category(result, "graphs_rse", "ctt-dec", "ring");
    if (complete && ring && rse_complete && rse_ring) {
        result.findings.push_back(fmt::format(
            "Couplet's RSE hardly depends on the graph ({} on a complete one, {} on a ring), since it merges along a "
            "tree in every one; the ring sends {} times the numbers of the complete graph.",
            short_number(rse_complete->y.mean), short_number(rse_ring->y.mean),
            short_number(ring->y.mean / complete->y.mean)));
    }
    const std::string sparse = fmt::format("S = {}, eq. M", densities.back());
    const auto at = [&](const char* figure, const char* method, Index l) {
        const Row* row = find_row(result, figure, method, sparse, static_cast<double>(l));
        return row == nullptr ? "-" : short_number(row->y.mean);
    };
    const Index few = iterations.front();
    const Index many = iterations.back();
    result.findings.push_back(fmt::format(
        "On the sparsest graph the CTT of Zhang et al. 2024, every node with its own state, goes from {} at L = {} "
        "to {} at L = {}: "
        "the less the nodes agree, the better each fits its own people. With other nodes' states, as the "
        "paper's tables "
        "seem to be evaluated, it goes from {} to {}: sparse graphs need more iterations, as it reports.",
        at("rse", "printed-dec", few), few, at("rse", "printed-dec", many), many, at("rse_table", "printed-paper", few),
        at("rse_table", "printed-paper", many)));
    const Row* printed_ring = find_category(result, "graphs_numbers", "printed-dec", "ring");
    if (ring && printed_ring) {
        result.findings.push_back(
            fmt::format("In numbers: on a ring Couplet sends {} times those of the CTT of Zhang et al. 2024 "
                        "method with L = 3.",
                        short_number(ring->y.mean / printed_ring->y.mean)));
    }
    return result;
}

}  // namespace

extern const Experiment topology_experiment{
    .name = "topology",
    .title = "Topology and density",
    .about =
        "Graphs of density S (links over those of a complete graph), eight clients. The CTT of Zhang et al. 2024 "
        "averages L "
        "times, with magic-square weights on the complete graph and eq. M on others; ours merges along a tree. The "
        "total counts all links.",
    .paper = "Figure: RSE and total communication cost in different network structures",
    .data = {DataId::diabetes},
    .run = run_topology};

}  // namespace couplet
