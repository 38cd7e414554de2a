#include <fmt/format.h>

#include <functional>

#include "couplet/data/synthetic.hpp"
#include "couplet/experiments/cost_model.hpp"
#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

/// One federation of the analysis: I patients in total with I x I features, K clients, rank R, L iterations.
struct Case {
    Index clients = 4;
    Index size = 96;
    Index rank = 10;
    Index iterations = 3;
};

/// What varies, and over what.
struct Sweep {
    const char* id;
    const char* label;
    std::vector<Index> values;
    std::function<Case(Index)> at;
};

/// Every client has at least as many patients as the rank, which the printed method needs.
std::vector<Sweep> sweeps(const Lab& lab) {
    const auto base =
        lab.by_effort<Case>({}, {.size = 48, .rank = 5}, {.clients = 2, .size = 16, .rank = 3, .iterations = 2});
    using List = std::vector<Index>;
    const auto with = [base](Index Case::*member) {
        return [base, member](Index value) {
            Case one = base;
            one.*member = value;
            return one;
        };
    };
    return {{"K", "clients K", lab.by_effort<List>({1, 2, 4, 6, 8}, {1, 2, 4, 8}, {1, 2}), with(&Case::clients)},
            {"R", "rank R", lab.by_effort<List>({2, 4, 8, 16}, {2, 4, 8, 12}, {2, 3}), with(&Case::rank)},
            {"I", "size I of every mode", lab.by_effort<List>({48, 72, 96, 144}, {24, 36, 48, 72}, {12, 16}),
             with(&Case::size)},
            {"L", "iterations L", lab.by_effort<List>({1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2}), with(&Case::iterations)}};
}

/// Dense features: every rank is R, as the analysis assumes.
MemorySource clients_of(const Case& c, std::uint64_t seed) {
    SyntheticSpec spec{.shape = {c.size, c.size, c.size}, .cp_rank = c.rank, .density = 1.0, .seed = seed};
    const SyntheticClients made(spec, c.clients);
    std::vector<Tensor<double>> tensors;
    for (Index k = 0; k < c.clients; ++k) tensors.push_back(made.client(k));
    return MemorySource(std::move(tensors));
}

/// Everybody's time together: the analysis adds all nodes up.
double all_seconds(const SimulationResult& result) { return result.seconds.clients_sum + result.seconds.server; }

void measure(Collector& collect, const Sweep& sweep, Index value, std::uint64_t seed) {
    const Case c = sweep.at(value);
    const MemorySource source = clients_of(c, seed);
    const auto x = static_cast<double>(value);
    CostCase cost{c.clients, c.size / c.clients, {c.size, c.size}, {c.rank, c.rank}, c.iterations};
    const std::string numbers = fmt::format("numbers_{}", sweep.id);
    const std::string work = fmt::format("work_{}", sweep.id);
    const auto star = simulate(source, {.job = printed_star(c.rank)});
    collect.add(numbers, "printed-star", "", x, star.numbers_up_per_client);
    collect.add(numbers, "predicted", "star", x, star_numbers(cost));
    collect.add(work, "printed-star", "", x, all_seconds(star));
    collect.add(work, "predicted", "star", x, star_operations(cost));
    if (c.clients < 2) return;
    const auto peers = simulate(source, {.job = printed_peers(c.rank, c.clients, c.iterations)});
    collect.add(numbers, "printed-dec", "", x, peers.numbers_up_per_client);
    collect.add(numbers, "predicted", "decentralized", x, peers_numbers(cost));
    collect.add(work, "printed-dec", "", x, all_seconds(peers));
    collect.add(work, "predicted", "decentralized", x, peers_operations(cost));
}

/// Operations and seconds have no unit in common: every line is shown relative to its largest x.
void make_relative(ExperimentResult& result) {
    for (const Figure& figure : result.figures) {
        if (!figure.id.starts_with("work_")) continue;
        std::map<std::pair<std::string, std::string>, double> last;
        for (const Row& row : result.rows) {
            if (row.figure == figure.id) last[{row.method, row.variant}] = row.y.mean;
        }
        for (Row& row : result.rows) {
            if (row.figure != figure.id) continue;
            const double unit = last[{row.method, row.variant}];
            if (unit <= 0) continue;
            row.y.mean /= unit;
            row.y.sd /= unit;
        }
    }
}

std::string finding(const ExperimentResult& result) {
    double worst = 0;
    for (const Row& row : result.rows) {
        if (row.method != "printed-dec" || !row.figure.starts_with("numbers_")) continue;
        const Row* predicted = find_row(result, row.figure, "predicted", "decentralized", row.x);
        if (predicted != nullptr) worst = std::max(worst, std::abs(row.y.mean / predicted->y.mean - 1));
    }
    return fmt::format(
        "Numbers sent by peers follow L R1 I2 I3 to {}%. In a star the formula takes every rank as R; eps1 = 0.1 cuts "
        "some, and what is sent is less.",
        short_number(100 * worst));
}

ExperimentResult run(Lab& lab) {
    ExperimentResult result{.name = "analysis"};
    Collector collect;
    const auto all = sweeps(lab);
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(all.size()));
    for (const Sweep& sweep : all) {
        const Axis x{sweep.label};
        result.figures.push_back({fmt::format("numbers_{}", sweep.id),
                                  fmt::format("Numbers per link, against {}", sweep.id),
                                  Chart::lines,
                                  x,
                                  {"numbers per link, one way", true}});
        result.figures.push_back({fmt::format("work_{}", sweep.id),
                                  fmt::format("Work of all nodes, against {}", sweep.id),
                                  Chart::lines,
                                  x,
                                  {"operations or seconds, relative", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            for (const Index value : sweep.values) measure(collect, sweep, value, lab.seed(r));
            steps.next();
        }
    }
    result.rows = collect.rows();
    make_relative(result);
    result.findings.push_back(finding(result));
    return result;
}

}  // namespace

extern const Experiment analysis_experiment{
    .name = "analysis",
    .title = "The paper's formulas",
    .about =
        "Section V of the paper predicts operations and numbers from K, R, I and L. Operations are shown beside "
        "measured "
        "seconds of all nodes together, each relative to its value at the largest x, since the formulas leave "
        "constants "
        "open; numbers as they are. Tensors I x I x I of CP rank R, printed method.",
    .paper = "Section: analysis, computational and communication efficiency",
    .data = {},
    .run = run};

}  // namespace couplet
