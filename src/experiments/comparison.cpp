#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/paper_numbers.hpp"
#include "couplet/experiments/reasons.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index comparison_clients = 4;
const std::vector<DataId> comparison_data_sets{DataId::diabetes, DataId::ecg, DataId::synthetic3, DataId::synthetic4,
                                               DataId::cms};

struct Numbers {
    double rse;
    double rounds;
    double seconds;
    double bytes;
};

void add(Collector& collect, const std::string& method, DataId id, const Numbers& numbers) {
    const std::string category(data_title(id));
    collect.add_dot("rse", method, category, numbers.rse);
    collect.add_dot("bytes", method, category, numbers.bytes);
    collect.add_dot("rounds", method, category, numbers.rounds);
    collect.add_dot("seconds", method, category, numbers.seconds);
}

void add(Collector& collect, const std::string& method, DataId id, const SimulationResult& result) {
    add(collect, method, id,
        {result.rse, static_cast<double>(result.rounds), federation_seconds(result), total_bytes(result)});
}

void measure_comparison(Collector& collect, Lab& lab, const ExperimentData& data, Index repeat) {
    const MemorySource source = data.split(comparison_clients);
    add(collect, "ctt-star", data.id, simulate(source, {.job = couplet_star(data.rank)}));
    add(collect, "ctt-dec", data.id, simulate(source, {.job = couplet_peers(data.rank)}));
    add(collect, "printed-star", data.id, simulate(source, {.job = printed_star(data.rank)}));
    add(collect, "printed-refit", data.id, simulate(source, {.job = printed_refit(data.rank)}));
    add(collect, "printed-dec", data.id, simulate(source, {.job = printed_peers(data.rank, comparison_clients, 3)}));
    add(collect, "centralized", data.id, reference_centralized(source, {.job = couplet_star(data.rank)}));
    for (const Method method : MethodBench::methods(data.dataset.tensor.shape().order())) {
        const auto& one =
            lab.methods.run(method, data, lab.seed(repeat), comparison_clients, lab.settings.seed, lab.data);
        add(collect, std::string(to_string(method)), data.id, {one.rse, one.rounds, one.seconds, one.bytes});
        if (is_cp(method)) {
            collect.add_dot("settled", std::string(to_string(method)), std::string(data_title(data.id)), one.settled);
        }
    }
}

void put_paper(Collector& collect, DataId id) {
    for (const PaperComparison& line : paper_comparison()) {
        if (line.data != id) continue;
        const std::string method(line.method);
        const std::string category(data_title(id));
        collect.paper_dot("rse", method, category, line.rse);
        collect.paper_dot("rounds", method, category, line.rounds);
        collect.paper_dot("seconds", method, category, line.seconds);
    }
}

/// The part of the time of its fastest competitor that the paper's faster network saves; nothing where it has no table.
std::optional<double> paper_saving(DataId id) {
    double ours = std::numeric_limits<double>::infinity();
    double fastest = ours;
    for (const PaperComparison& line : paper_comparison()) {
        if (line.data != id) continue;
        double& best = MethodBench::has(line.method) ? fastest : ours;
        best = std::min(best, line.seconds);
    }
    if (!std::isfinite(fastest)) return std::nullopt;
    return 1 - ours / fastest;
}

/// What of the printed method's error the average leaves, and what its fixed personal cores.
std::string refit_finding(const ExperimentResult& result, DataId id) {
    const std::string category(data_title(id));
    const Row* printed = find_category(result, "rse", "printed-star", category);
    const Row* refitted = find_category(result, "rse", "printed-refit", category);
    const Row* ours = find_category(result, "rse", "ctt-star", category);
    if (printed == nullptr || refitted == nullptr || ours == nullptr) return "";
    return fmt::format(
        "{}: the CTT of Zhang et al. 2024 leaves {}; with its features, but personal cores fitted to them again, {}; "
        "Couplet {}.",
        category, rse_text(printed->y.mean), rse_text(refitted->y.mean), rse_text(ours->y.mean));
}

/// Time against the fastest method of another paper.
std::string comparison_finding(const ExperimentResult& result, DataId id) {
    const std::string category(data_title(id));
    const Row* ours = find_category(result, "seconds", "ctt-star", category);
    const Row* fastest = least_other(result, "seconds", category);
    if (ours == nullptr || fastest == nullptr) return "";
    const double part = ours->y.mean / fastest->y.mean;
    const auto paper = paper_saving(id);
    return fmt::format(
        "{}: Couplet in a star takes {} s; the fastest of the other methods, {}, {} s: {}{}.", category,
        short_number(ours->y.mean), method_style(fastest->method).label, short_number(fastest->y.mean),
        part < 1 ? fmt::format("{:.0f}% less", 100 * (1 - part)) : fmt::format("{} times as long", short_number(part)),
        paper ? fmt::format(" (the paper reports {:.0f}% less for its own)", 100 * *paper) : "");
}

ExperimentResult run_comparison(Lab& lab) {
    ExperimentResult result{
        .name = "comparison",
        .figures = {{"rse", "Error", Chart::dots, {}, {"RSE", true}, true},
                    {"bytes", "Everything sent", Chart::dots, {}, {"bytes, all links", true}, true},
                    {"rounds", "Rounds", Chart::dots, {}, {"rounds of communication", true}},
                    {"settled",
                     "Rounds until within 5% of the final error",
                     Chart::dots,
                     {},
                     {"rounds of communication", true}},
                    {"seconds", "Time", Chart::dots, {}, {"seconds, slowest client and server", true}, true}}};
    Collector collect;
    std::vector<DataId> present;
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(comparison_data_sets.size()));
    for (const DataId id : comparison_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        present.push_back(id);
        // The records have no random part to draw again.
        const Index repeats = id == DataId::cms ? 1 : lab.settings.repeats;
        for (Index r = 0; r < repeats; ++r) {
            measure_comparison(collect, lab, *lab.data.open(id, lab.seed(r)), r);
            steps.next();
        }
        if (lab.settings.effort == Effort::full) put_paper(collect, id);
    }
    result.rows = collect.rows();
    for (Row& row : result.rows) {
        for (const DataId id : present) {
            if (row.category == data_title(id) && differs_from_paper(row)) row.note = reason(id, row);
        }
    }
    for (const DataId id : present) {
        if (auto sentence = refit_finding(result, id); !sentence.empty())
            result.findings.push_back(std::move(sentence));
        if (auto sentence = comparison_finding(result, id); !sentence.empty())
            result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment comparison_experiment{
    .name = "comparison",
    .title = "All methods, counted alike",
    .about =
        "Error, bytes, rounds and time of every method on the same four clients. Rank R1, and the CP rank of the other "
        "methods, are those that the paper chose (Diabetes 50, ECG 100, synthetic 20) and 50 for records of diagnoses "
        "and medications; quick runs use less data and smaller ranks. The CTT of Zhang et al. 2024 cuts with eps1 = "
        "0.1 and eps2 "
        "= 0.05, as the paper, Couplet with 0.01 and 0.01, its defaults. Printed peers iterate L = 3 times; methods "
        "that "
        "train have 75 rounds (20 in a quick run). Hollow marks are the paper's numbers.",
    .paper = "Table: comparison of communication cost, run-time and RSE",
    .data = {DataId::diabetes, DataId::ecg, DataId::synthetic3, DataId::synthetic4, DataId::cms},
    .run = run_comparison};

}  // namespace couplet
