#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "couplet/core/operations.hpp"
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

std::string figure_of(const char* metric, const Sweep& sweep) { return fmt::format("{}_{}", metric, sweep.id); }

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

/// Runs one federation and adds what it sent, computed and took; work per node, the server's shared out, as the
/// analysis has it in the end.
void run_one(Collector& collect, const Sweep& sweep, Index value, const char* method, const MemorySource& source,
             const JobOptions& job) {
    const OperationCount count;
    const auto result = simulate(source, {.job = job});
    const double operations = count.total();
    const auto x = static_cast<double>(value);
    const auto nodes = static_cast<double>(source.clients());
    collect.add(figure_of("numbers", sweep), method, "", x, result.numbers_up_per_client);
    collect.add(figure_of("operations", sweep), method, "", x, operations / nodes);
    collect.add(figure_of("seconds", sweep), method, "", x,
                (result.seconds.clients_sum + result.seconds.server) / nodes);
}

void measure_analysis(Collector& collect, const Sweep& sweep, Index value, std::uint64_t seed) {
    const Case c = sweep.at(value);
    const MemorySource source = clients_of(c, seed);
    const CostCase cost{c.clients, c.size / c.clients, {c.size, c.size}, {c.rank, c.rank}, c.iterations};
    const auto predict = [&](const char* network, double numbers, double operations) {
        collect.add(figure_of("numbers", sweep), "predicted", network, static_cast<double>(value), numbers);
        collect.add(figure_of("operations", sweep), "predicted", network, static_cast<double>(value),
                    operations / static_cast<double>(c.clients));
    };
    run_one(collect, sweep, value, "printed-star", source, printed_star(c.rank));
    predict("star", star_numbers(cost), star_operations(cost));
    run_one(collect, sweep, value, "ctt-star", source, couplet_star(c.rank));
    if (c.clients < 2) return;
    run_one(collect, sweep, value, "printed-dec", source, printed_peers(c.rank, c.clients, c.iterations));
    predict("decentralized", peers_numbers(cost), peers_operations(cost));
    run_one(collect, sweep, value, "ctt-dec", source, couplet_peers(c.rank));
}

/// "exactly", or how far the numbers that a method sends are from their formula at most.
std::string deviation(const ExperimentResult& result, const std::string& method, const std::string& network) {
    double worst = 0;
    for (const Row& row : result.rows) {
        if (row.method != method || !row.figure.starts_with("numbers_")) continue;
        const Row* predicted = find_row(result, row.figure, "predicted", network, row.x);
        if (predicted != nullptr) worst = std::max(worst, std::abs(row.y.mean / predicted->y.mean - 1));
    }
    return worst == 0 ? "exactly" : fmt::format("to {}%", short_number(100 * worst));
}

std::string numbers_finding(const ExperimentResult& result) {
    return fmt::format(
        "Numbers sent follow the formulas: {} among the peers of Zhang et al. 2024, {} in their star (where eps1 may "
        "cut ranks "
        "below "
        "the R that the formula assumes).",
        deviation(result, "printed-dec", "decentralized"), deviation(result, "printed-star", "star"));
}

/// The power of x with which a line grows from its first point to its last; nothing where it has no two points.
std::optional<double> growth(const ExperimentResult& result, const std::string& figure, const std::string& method,
                             const std::string& variant) {
    const Row* first = nullptr;
    const Row* last = nullptr;
    for (const Row& row : result.rows) {
        if (row.figure != figure || row.method != method || row.variant != variant) continue;
        if (first == nullptr) first = &row;
        last = &row;
    }
    if (first == last || first->x <= 0 || first->y.mean <= 0) return std::nullopt;
    return std::log(last->y.mean / first->y.mean) / std::log(last->x / first->x);
}

/// "K^0.5 R^1.6 I^3.0": how the operations of one method grow in each sweep.
std::string growths(const ExperimentResult& result, const std::vector<Sweep>& sweeps, const std::string& method,
                    const std::string& variant, bool peers) {
    std::vector<std::string> powers;
    for (const Sweep& sweep : sweeps) {
        const auto power = growth(result, figure_of("operations", sweep), method, variant);
        if (power && (peers || std::string_view(sweep.id) != "L")) {
            powers.push_back(fmt::format("{}^{:.1f}", sweep.id, *power));
        }
    }
    return fmt::format("{}", fmt::join(powers, " "));
}

std::string operations_finding(const ExperimentResult& result, const std::vector<Sweep>& sweeps) {
    const auto star = growth(result, figure_of("operations", sweeps.front()), "printed-star", "");
    const auto peers = growth(result, figure_of("operations", sweeps.front()), "printed-dec", "");
    const bool fall = star && peers && *star < 0 && *peers < 0;
    return fmt::format(
        "Over these ranges the operations per node of the star of Zhang et al. 2024 grow like {} (its formula: {}), "
        "those of "
        "its "
        "peers like {} (formula: {}){}. The formulas square R I2, the longer side of the second unfolding; an SVD "
        "needs "
        "to square the shorter one only, hence the smaller power of R.",
        growths(result, sweeps, "printed-star", "", false), growths(result, sweeps, "predicted", "star", false),
        growths(result, sweeps, "printed-dec", "", true), growths(result, sweeps, "predicted", "decentralized", true),
        fall ? ": both fall with K, as the paper says" : "");
}

ExperimentResult run_analysis(Lab& lab) {
    ExperimentResult result{.name = "analysis"};
    Collector collect;
    const auto all = sweeps(lab);
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(all.size()));
    for (const Sweep& sweep : all) {
        const Axis x{sweep.label};
        const auto figure = [&](const char* metric, const char* title, const char* unit) {
            result.figures.push_back({figure_of(metric, sweep),
                                      fmt::format("{}, against {}", title, sweep.id),
                                      Chart::lines,
                                      x,
                                      {unit, true}});
        };
        figure("numbers", "Numbers per link", "numbers per link, one way");
        figure("operations", "Operations", "operations per node");
        figure("seconds", "Time", "seconds per node");
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            for (const Index value : sweep.values) measure_analysis(collect, sweep, value, lab.seed(r));
            steps.next();
        }
    }
    result.rows = collect.rows();
    result.findings.push_back(numbers_finding(result));
    result.findings.push_back(operations_finding(result, all));
    return result;
}

}  // namespace

extern const Experiment analysis_experiment{
    .name = "analysis",
    .title = "The paper's formulas",
    .about =
        "Section V of the paper predicts operations and numbers from K, R, I and L. Beside its formulas, line by line "
        "of "
        "its algorithms and with the constants that they leave open at 1: the numbers sent, and the floating-point "
        "operations counted in every product and factorisation, measuring the error included, per node (the server's "
        "shared out). In the paper's short form of the star, I^N [R^2 (1 + 1/K) + 1/K^2], the last term lacks a factor "
        "I. "
        "Tensors I x I x I of CP rank R.",
    .paper = "Section: analysis, computational and communication efficiency",
    .data = {},
    .run = run_analysis};

}  // namespace couplet
