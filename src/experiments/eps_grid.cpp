#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index eps_grid_clients = 4;
const std::vector<DataId> eps_grid_data_sets{DataId::synthetic3, DataId::diabetes};

const char* suffix(DataId id) { return id == DataId::synthetic3 ? "synthetic" : "diabetes"; }

void measure_eps_grid(Collector& collect, const ExperimentData& data, double eps1, double eps2) {
    const MemorySource source = data.split(eps_grid_clients);
    const std::string variant = fmt::format("eps2 = {}", eps2);
    const auto add = [&](const char* method, const SimulationResult& result) {
        collect.add(fmt::format("rse_{}", suffix(data.id)), method, variant, eps1, result.rse);
        collect.add(fmt::format("numbers_{}", suffix(data.id)), method, variant, eps1, result.numbers_up_per_client);
    };
    add("printed-star", simulate(source, {.job = printed_star(data.rank, eps1, eps2)}));
    add("ctt-star", simulate(source, {.job = {.rank = data.rank, .eps1 = eps1, .eps2 = eps2}}));
}

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

/// What the choice of eps1 and eps2 does to the printed method, and to ours.
std::string eps_grid_finding(const ExperimentResult& result, const std::string& figure, DataId id) {
    Range printed;
    Range ours;
    for (const Row& row : rows_of(result, figure)) (row.method == "ctt-star" ? ours : printed).add(row.y.mean);
    return fmt::format(
        "{}: over the grid the RSE of the CTT of Zhang et al. 2024 lies between {} and {}, Couplet's between {} and "
        "{}: the finest "
        "cuts "
        "still leave it {} times Couplet's error.",
        data_title(id), rse_text(printed.low), rse_text(printed.high), rse_text(ours.low), rse_text(ours.high),
        short_number(printed.low / ours.low));
}

ExperimentResult run_eps_grid(Lab& lab) {
    ExperimentResult result{.name = "eps_grid"};
    Collector collect;
    const auto grid1 =
        lab.by_effort<std::vector<double>>({0.05, 0.1, 0.3, 0.5, 0.7}, {0.05, 0.1, 0.3, 0.5, 0.7}, {0.1, 0.5});
    const auto grid2 = lab.by_effort<std::vector<double>>({0.01, 0.03, 0.05, 0.07}, {0.01, 0.05}, {0.05});
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(eps_grid_data_sets.size()));
    for (const DataId id : eps_grid_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        const std::string name(data_title(id));
        const Axis eps1{"relative precision eps1", true};
        result.figures.push_back(
            {fmt::format("rse_{}", suffix(id)), name + ": error", Chart::lines, eps1, {"RSE", true}});
        result.figures.push_back({fmt::format("numbers_{}", suffix(id)),
                                  name + ": communication",
                                  Chart::lines,
                                  eps1,
                                  {"numbers per link, one way", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            const auto data = lab.data.open(id, lab.seed(r));
            for (const double eps2 : grid2) {
                for (const double eps1_value : grid1) measure_eps_grid(collect, *data, eps1_value, eps2);
            }
            steps.next();
        }
    }
    result.rows = collect.rows();
    for (const Figure& figure : result.figures) {
        if (!figure.id.starts_with("rse_")) continue;
        result.findings.push_back(
            eps_grid_finding(result, figure.id, figure.id == "rse_synthetic" ? DataId::synthetic3 : DataId::diabetes));
    }
    return result;
}

}  // namespace

extern const Experiment eps_grid_experiment{
    .name = "eps_grid",
    .title = "Precisions eps1 and eps2",
    .about =
        "The grid that the paper searched for its precisions: eps1 cuts the clients' cores, eps2 those of the server. "
        "Four clients, R1 as chosen by the paper.",
    .paper = "Experimental setup: the choice of eps1 = 0.1 and eps2 = 0.05",
    .data = {DataId::synthetic3, DataId::diabetes},
    .run = run_eps_grid};

}  // namespace couplet
