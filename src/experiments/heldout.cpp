#include <fmt/format.h>

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/gain_section.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/sim/gain.hpp"
#include "couplet/sim/reference.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

const std::vector<DataId> heldout_data_sets{DataId::diabetes, DataId::ecg, DataId::synthetic3, DataId::cms};

void add(Collector& collect, const std::string& method, DataId id, double training, double heldout) {
    const std::string category(data_title(id));
    collect.add_dot("training", method, category, training);
    collect.add_dot("heldout", method, category, heldout);
}

/// What each site gains by joining, which is why anybody does.
void add_gains(Collector& collect, const ExperimentData& data, const std::vector<std::optional<ClientGain>>& gains) {
    for (std::size_t k = 0; k < gains.size(); ++k) {
        if (!gains[k]) continue;
        const std::string category = gain_category(std::string(data_title(data.id)), static_cast<Index>(k) + 1);
        collect.add_dot(gain_figure, "local", category, gains[k]->alone);
        collect.add_dot(gain_figure, "ctt-star", category, gains[k]->together);
    }
}

void measure_heldout(Collector& collect, Lab& lab, const ExperimentData& data, Index repeat) {
    const MemorySource source = data.split(heldout_clients);
    const auto run = [&](const char* method, JobOptions job) {
        job.seed = lab.seed(repeat);
        const auto result = simulate(source, {.job = job, .heldout = heldout_fraction});
        add(collect, method, data.id, result.rse, *result.rse_heldout);
    };
    JobOptions star = couplet_star(data.rank);
    star.seed = lab.seed(repeat);
    const auto joined = simulate(source, {.job = star, .heldout = heldout_fraction});
    add(collect, "ctt-star", data.id, joined.rse, *joined.rse_heldout);
    add_gains(collect, data,
              measure_gain(source, star, {.heldout = heldout_fraction}, joined.schema, *joined.features));
    run("ctt-dec", couplet_peers(data.rank));
    JobOptions printed = printed_star(data.rank);
    printed.refit = true;  // there is no other way to a personal core for new patients
    run("printed-star", printed);
    JobOptions job = couplet_star(data.rank);
    job.seed = lab.seed(repeat);
    const auto all = reference_centralized(source, {.job = job, .heldout = heldout_fraction});
    add(collect, "centralized", data.id, all.rse, *all.rse_heldout);
    const auto alone = reference_local(source, {.job = job, .heldout = heldout_fraction});
    add(collect, "local", data.id, alone.rse, *alone.rse_heldout);
    for (const Method method : MethodBench::methods(3)) {
        const auto& one = lab.methods.run(method, data, lab.seed(repeat), heldout_clients, lab.settings.seed, lab.data,
                                          heldout_fraction);
        add(collect, std::string(to_string(method)), data.id, one.rse, one.rse_heldout);
    }
}

std::string heldout_finding(const ExperimentResult& result, DataId id) {
    const std::string category(data_title(id));
    const Row* ours = find_category(result, "heldout", "ctt-star", category);
    const Row* alone = find_category(result, "heldout", "local", category);
    const Row* alone_training = find_category(result, "training", "local", category);
    const Row* other = least_other(result, "heldout", category);
    if (!ours || !alone || !alone_training || !other) return "";
    const auto label = method_style(other->method).label;
    const std::string rest = other->y.mean < rounding_rse ? fmt::format("so does {}.", label)
                                                          : fmt::format("the best of the other methods, {}, has {}.",
                                                                        label, rse_text(other->y.mean));
    if (alone->y.mean < rounding_rse) {
        return fmt::format(
            "{}: the people of one client show all features, so that a client alone fits new ones exactly, and so does "
            "Couplet; {}",
            category, rest);
    }
    return fmt::format(
        "{}: a client alone fits its own people to {} but new ones only to {}; with the federation's features it is "
        "{}; {}",
        category, rse_text(alone_training->y.mean), rse_text(alone->y.mean), rse_text(ours->y.mean), rest);
}

ExperimentResult run_heldout(Lab& lab) {
    ExperimentResult result{
        .name = "heldout",
        .figures = {{"heldout", "New people", Chart::dots, {}, {"RSE, held out", true}, true},
                    {"training", "People who took part", Chart::dots, {}, {"RSE, training", true}, true}}};
    Collector collect;
    Steps steps(lab, result.name, lab.settings.repeats * static_cast<Index>(heldout_data_sets.size()));
    for (const DataId id : heldout_data_sets) {
        if (const auto missing = lab.data.absent(id); !missing.empty()) {
            result.absent.push_back(missing);
            continue;
        }
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            measure_heldout(collect, lab, *lab.data.open(id, lab.seed(r)), r);
            steps.next();
        }
    }
    result.rows = collect.rows();
    for (const DataId id : heldout_data_sets) {
        if (auto sentence = heldout_finding(result, id); !sentence.empty())
            result.findings.push_back(std::move(sentence));
    }
    return result;
}

}  // namespace

extern const Experiment heldout_experiment{
    .name = "heldout",
    .title = "People who did not take part",
    .about =
        "A fifth of every client's people is kept out, then embedded with the "
        "frozen features. The error on those who took part "
        "rewards not federating; this one does not. The CTT of Zhang et al. 2024 is given "
        "our refit, as it has no way to embed new people.",
    .paper = "",
    .data = {DataId::diabetes, DataId::ecg, DataId::synthetic3, DataId::cms},
    .run = run_heldout};

}  // namespace couplet
