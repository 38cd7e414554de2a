#include <fmt/format.h>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

const std::vector<DataId> scalability_data_sets{DataId::ecg, DataId::diabetes, DataId::synthetic3, DataId::synthetic4};

std::string id_of(const char* metric, DataId id) { return fmt::format("{}_{}", metric, static_cast<int>(id)); }

void measure_scalability(Collector& collect, const ExperimentData& data, Index clients) {
    const MemorySource source = data.split(clients);
    const auto add = [&](const char* method, const std::string& variant, const JobOptions& job) {
        const auto result = simulate(source, {.job = job});
        const auto x = static_cast<double>(clients);
        collect.add(id_of("rse", data.id), method, variant, x, result.rse);
        collect.add(id_of("numbers", data.id), method, variant, x, result.numbers_up_per_client);
        collect.add(id_of("seconds", data.id), method, variant, x, federation_seconds(result));
    };
    add("ctt-star", "", couplet_star(data.rank));
    add("ctt-dec", "", couplet_peers(data.rank));
    add("printed-star", "", printed_star(data.rank));
    for (Index l = 1; l <= 4; ++l) {
        add("printed-dec", fmt::format("L = {}", l), printed_peers(data.rank, clients, l));
    }
}

std::string scalability_finding(const ExperimentResult& result, DataId id, Index few, Index many) {
    const auto at = [&](const char* metric, const char* method, Index clients) {
        return find_row(result, id_of(metric, id), method, "", static_cast<double>(clients));
    };
    const Row* ours = at("rse", "ctt-star", many);
    const Row* ours_before = at("rse", "ctt-star", few);
    const Row* printed = at("rse", "printed-star", many);
    const Row* printed_before = at("rse", "printed-star", few);
    if (!ours || !ours_before || !printed || !printed_before) return "";
    const std::string change =
        ours->y.mean < rounding_rse && ours_before->y.mean < rounding_rse
            ? "Couplet stays exact"
            : fmt::format("Couplet's from {} to {}", rse_text(ours_before->y.mean), rse_text(ours->y.mean));
    const auto seconds = [&](const char* method, Index clients) {
        const Row* row = at("seconds", method, clients);
        return row == nullptr ? "-" : short_number(row->y.mean);
    };
    return fmt::format(
        "{}, from {} to {} clients: the RSE of the CTT of Zhang et al. 2024 goes from {} to {}, {}; its time from {} "
        "to "
        "{} "
        "s, Couplet's from {} to {} s.",
        data_title(id), few, many, rse_text(printed_before->y.mean), rse_text(printed->y.mean), change,
        seconds("printed-star", few), seconds("printed-star", many), seconds("ctt-star", few),
        seconds("ctt-star", many));
}

ExperimentResult run_scalability(Lab& lab) {
    ExperimentResult result{.name = "scalability"};
    const auto counts = lab.by_effort<std::vector<Index>>({2, 4, 6, 8, 10}, {2, 6, 10}, {2, 3});
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(scalability_data_sets.size()));
    for (const DataId id : scalability_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        const std::string name(data_title(id));
        const Axis x{"clients K"};
        result.figures.push_back({id_of("rse", id), name + ": error", Chart::lines, x, {"RSE", true}});
        result.figures.push_back(
            {id_of("numbers", id), name + ": communication", Chart::lines, x, {"numbers per link, one way", true}});
        result.figures.push_back(
            {id_of("seconds", id), name + ": time", Chart::lines, x, {"seconds, slowest client and server", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            const auto data = lab.data.open(id, lab.seed(r));
            for (const Index clients : counts) measure_scalability(collect, *data, clients);
            steps.next();
        }
    }
    result.rows = collect.rows();
    for (const DataId id : scalability_data_sets) {
        auto sentence = scalability_finding(result, id, counts.front(), counts.back());
        if (!sentence.empty()) result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment scalability_experiment{
    .name = "scalability",
    .title = "Scalability",
    .about =
        "The same people on more and more clients: error, numbers per link and time, for four data sets. The time is "
        "that of the slowest client and the server, what a federation waits for. A stack has K R1 rows, so that the "
        "server's part of Couplet grows with K while that of each client falls; an average stays as small as one "
        "client's.",
    .paper = "Figure: RSE, communication cost per link and run-time versus the number of nodes",
    .data = {DataId::ecg, DataId::diabetes, DataId::synthetic3, DataId::synthetic4},
    .run = run_scalability};

}  // namespace couplet
