#include <fmt/format.h>

#include <cmath>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index heterogeneous_clients = 4;

std::vector<Tensor<double>> equal(const Tensor<double>& all) { return split_rows(all.view(), heterogeneous_clients); }

/// Parts of 1 : 2 : 4 : 8.
std::vector<Tensor<double>> sizes(const Tensor<double>& all) {
    const Index rows = all.shape()[0];
    std::vector<Tensor<double>> parts;
    Index first = 0;
    for (Index k = 0; k < heterogeneous_clients; ++k) {
        const Index end = k + 1 == heterogeneous_clients ? rows : first + rows * (Index{1} << k) / 15;
        parts.push_back(Tensor<double>::copy(all.view().rows(first, end - first)));
        first = end;
    }
    return parts;
}

/// Units that differ by a factor of ten from client to client.
std::vector<Tensor<double>> scales(const Tensor<double>& all) {
    auto parts = equal(all);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (double& value : parts[k].elements()) value *= std::pow(10.0, static_cast<double>(k) - 1.5);
    }
    return parts;
}

/// Every client knows a quarter of the indices of mode 2 and has zeros in the others.
std::vector<Tensor<double>> disjoint(const Tensor<double>& all) {
    auto parts = equal(all);
    const Index middle = all.shape()[1];
    const Index width = all.size() / (all.shape()[0] * middle);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (Index p = 0; p < parts[k].shape()[0]; ++p) {
            for (Index i = 0; i < middle; ++i) {
                if (i * heterogeneous_clients / middle == static_cast<Index>(k)) continue;
                std::fill_n(parts[k].data() + (p * middle + i) * width, width, 0.0);
            }
        }
    }
    return parts;
}

/// Half the clients count downwards where the others count upwards.
std::vector<Tensor<double>> flips(const Tensor<double>& all) {
    auto parts = equal(all);
    for (std::size_t k = 1; k < parts.size(); k += 2) {
        for (double& value : parts[k].elements()) value = -value;
    }
    return parts;
}

struct Scenario {
    const char* name;
    std::vector<Tensor<double>> (*make)(const Tensor<double>&);
};

constexpr std::array scenarios{Scenario{"alike", equal}, Scenario{"sizes 1:2:4:8", sizes},
                               Scenario{"scales, tenfold each", scales}, Scenario{"disjoint features", disjoint},
                               Scenario{"flipped signs", flips}};

void measure_heterogeneous(Collector& collect, const Lab& lab, const Scenario& scenario, const ExperimentData& data,
                           Index repeat) {
    const MemorySource source(scenario.make(data.dataset.tensor));
    Index rank = data.rank;
    // The printed method needs one rank that every client can give.
    for (Index k = 0; k < heterogeneous_clients; ++k) rank = std::min(rank, source.client(k)->shape()[0]);
    const auto add = [&](const char* method, const SimulationResult& result) {
        collect.add_dot("rse", method, scenario.name, result.rse);
    };
    add("ctt-star", simulate(source, {.job = couplet_star(rank)}));
    add("ctt-dec", simulate(source, {.job = couplet_peers(rank)}));
    add("printed-star", simulate(source, {.job = printed_star(rank)}));
    add("printed-dec", simulate(source, {.job = printed_peers(rank, heterogeneous_clients, 3)}));
    add("centralized", reference_centralized(source, {.job = couplet_star(rank)}));
    for (const Method method : MethodBench::methods(3)) {
        const auto one = lab.methods.run_plain(method, source, rank, lab.seed(repeat));
        collect.add_dot("rse", std::string(to_string(method)), scenario.name, one.rse);
    }
}

ExperimentResult run_heterogeneous(Lab& lab) {
    ExperimentResult result{.name = "heterogeneous", .figures = {{"rse", "Error", Chart::dots, {}, {"RSE", true}}}};
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(scenarios.size()));
    for (const Scenario& scenario : scenarios) {
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            measure_heterogeneous(collect, lab, scenario, *lab.data.open(DataId::synthetic3, lab.seed(r)), r);
            steps.next();
        }
    }
    result.rows = collect.rows();
    for (const Scenario& scenario : scenarios) {
        const Row* ours = find_category(result, "rse", "ctt-star", scenario.name);
        const Row* printed = find_category(result, "rse", "printed-star", scenario.name);
        const Row* all = find_category(result, "rse", "centralized", scenario.name);
        if (!ours || !printed || !all) continue;
        result.findings.push_back(
            fmt::format("Clients {}: the CTT of Zhang et al. 2024 {}, Couplet {}, centralized {}.",
                        std::string_view(scenario.name) == "alike" ? "alike" : "with " + std::string(scenario.name),
                        rse_text(printed->y.mean), rse_text(ours->y.mean), rse_text(all->y.mean)));
    }
    return result;
}

}  // namespace

extern const Experiment heterogeneous_experiment{
    .name = "heterogeneous",
    .title = "Clients that are not alike",
    .about =
        "Four clients of synthetic data that differ in size, in units, in the features they know, and in sign. "
        "Averages need clients that agree; a stack of rows does not. Printed peers iterate L = 3 times; methods of "
        "other papers run with their default parameters.",
    .paper = "",
    .data = {DataId::synthetic3},
    .run = run_heterogeneous};

}  // namespace couplet
