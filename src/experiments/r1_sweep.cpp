#include "r1_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/paper_numbers.hpp"
#include "couplet/experiments/reasons.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index most_iterations = 4;

std::string variant(Index iterations) { return fmt::format("L = {}", iterations); }

std::vector<Figure> figures(Index clients) {
    const Axis rank{"rank R1"};
    return {{"rse", "Zhang et al. 2024 as printed, and Couplet", Chart::lines, rank, {"RSE", true}},
            {"rse_table", "Evaluated as the paper's tables seem to be", Chart::lines, rank, {"RSE"}},
            {"numbers",
             fmt::format("Communication, K = {}", clients),
             Chart::lines,
             rank,
             {"numbers per link, one way", true}},
            {"seconds", "Time", Chart::lines, rank, {"seconds, slowest client and server", true}}};
}

void collect_all(Collector& collect, const std::string& method, const std::string& variant, Index rank,
                 const SimulationResult& result) {
    const auto x = static_cast<double>(rank);
    collect.add("rse", method, variant, x, result.rse);
    collect.add("numbers", method, variant, x, result.numbers_up_per_client);
    collect.add("seconds", method, variant, x, federation_seconds(result));
}

void measure_r1_sweep(Collector& collect, const ExperimentData& data, Index clients, Index rank, std::uint64_t seed) {
    const MemorySource source = data.split(clients);
    const auto x = static_cast<double>(rank);
    const auto star = simulate(source, {.job = printed_star(rank)});
    collect_all(collect, "printed-star", "", rank, star);
    collect.add("rse_table", "printed-star", "", x, star.rse);
    collect.add("rse", "printed-refit", "", x, simulate(source, {.job = printed_refit(rank)}).rse);
    for (Index l = 1; l <= most_iterations; ++l) {
        const JobOptions job = printed_peers(rank, clients, l);
        collect_all(collect, "printed-dec", variant(l), rank, simulate(source, {.job = job}));
        collect.add("rse_table", "printed-paper", variant(l), x, table_rse(source, job));
    }
    JobOptions ours = couplet_star(rank);
    ours.seed = seed;
    collect_all(collect, "ctt-star", "", rank, simulate(source, {.job = ours}));
    JobOptions peers = couplet_peers(rank);
    peers.seed = seed;
    collect_all(collect, "ctt-dec", "", rank, simulate(source, {.job = peers}));
    const auto all = reference_centralized(source, {.job = ours});
    collect.add("rse", "centralized", "", x, all.rse);
    collect.add("seconds", "centralized", "", x, federation_seconds(all));
}

/// The paper's table beside the rows it has.
void put_paper(Collector& collect, const PaperTable& table, const std::vector<Index>& ranks) {
    for (std::size_t i = 0; i < table.ranks.size(); ++i) {
        if (std::find(ranks.begin(), ranks.end(), table.ranks[i]) == ranks.end()) continue;
        const auto x = static_cast<double>(table.ranks[i]);
        collect.paper("rse", "printed-star", "", x, table.rse[0][i]);
        collect.paper("rse_table", "printed-star", "", x, table.rse[0][i]);
        collect.paper("numbers", "printed-star", "", x, table.numbers[0][i]);
        collect.paper("seconds", "printed-star", "", x, table.seconds[0][i]);
        for (std::size_t l = 1; l < table.rse.size(); ++l) {
            const std::string line = variant(static_cast<Index>(l));
            collect.paper("rse", "printed-dec", line, x, table.rse[l][i]);
            collect.paper("rse_table", "printed-paper", line, x, table.rse[l][i]);
            collect.paper("numbers", "printed-dec", line, x, table.numbers[l][i]);
            collect.paper("seconds", "printed-dec", line, x, table.seconds[l][i]);
        }
    }
}

std::string r1_sweep_finding(const ExperimentResult& result, Index rank) {
    const auto x = static_cast<double>(rank);
    const Row* printed = find_row(result, "rse", "printed-star", "", x);
    const Row* ours = find_row(result, "rse", "ctt-star", "", x);
    const Row* all = find_row(result, "rse", "centralized", "", x);
    if (!printed || !ours || !all) return "";
    if (all->y.mean < rounding_rse) {
        return fmt::format(
            "At R1 = {}, the rank of the data, centralized TT-SVD is exact to rounding; Couplet leaves what its eps1 "
            "and "
            "eps2 allow, an RSE of {}, the CTT of Zhang et al. 2024 {}.",
            rank, short_number(ours->y.mean), short_number(printed->y.mean));
    }
    return fmt::format(
        "At R1 = {} the CTT of Zhang et al. 2024 leaves an RSE of {}, Couplet {}: {} times less, and {:.3g} times that "
        "of "
        "centralized "
        "TT-SVD ({}).",
        rank, short_number(printed->y.mean), short_number(ours->y.mean), short_number(printed->y.mean / ours->y.mean),
        ours->y.mean / all->y.mean, short_number(all->y.mean));
}

/// "21 of 35": how many of the paper's numbers a figure's rows are near.
std::string near_paper(const ExperimentResult& result, const std::string& figure) {
    Index known = 0;
    Index near = 0;
    for (const Row& row : result.rows) {
        if (!row.paper || row.figure != figure) continue;
        ++known;
        near += differs_from_paper(row) ? 0 : 1;
    }
    return known == 0 ? "" : fmt::format("{} of {}", near, known);
}

std::string agreement(const ExperimentResult& result) {
    const std::string printed = near_paper(result, "rse");
    if (printed.empty()) return "";
    return fmt::format(
        "Within 10% of the paper's numbers are {} errors as printed, {} when evaluated as its tables seem to be, and "
        "{} "
        "numbers of communication (those among peers are a formula, L R1 I2 I3).",
        printed, near_paper(result, "rse_table"), near_paper(result, "numbers"));
}

}  // namespace

ExperimentResult run_r1_sweep(const R1Sweep& sweep, Lab& lab) {
    ExperimentResult result{.name = sweep.name, .figures = figures(sweep.clients)};
    Collector collect;
    Steps steps(lab, sweep.name, lab.settings.repeats * static_cast<Index>(sweep.ranks.size()));
    for (Index r = 0; r < lab.settings.repeats; ++r) {
        const auto data = lab.data.open(sweep.data, lab.seed(r));
        if (!data) {
            result.absent.push_back(lab.data.absent(sweep.data));
            return result;
        }
        for (const Index rank : sweep.ranks) {
            measure_r1_sweep(collect, *data, sweep.clients, rank, lab.seed(r));
            steps.next();
        }
    }
    const PaperTable* table = paper_r1_table(sweep.data);
    if (table != nullptr && lab.settings.effort != Effort::tiny) put_paper(collect, *table, sweep.ranks);
    result.rows = collect.rows();
    explain_differences(result, sweep.data);
    for (std::string sentence : {r1_sweep_finding(result, sweep.ranks.back()), agreement(result)}) {
        if (!sentence.empty()) result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace couplet
