#include <algorithm>
#include <array>

#include "couplet/core/error.hpp"
#include "couplet/experiments/experiment.hpp"

/// One line per experiment, in the order of the report.
#define COUPLET_FOR_EACH_EXPERIMENT(EXPERIMENT) \
    EXPERIMENT(comparison)                      \
    EXPERIMENT(error_vs_bytes)                  \
    EXPERIMENT(nodes)                           \
    EXPERIMENT(r1_ecg)                          \
    EXPERIMENT(r1_diabetes)                     \
    EXPERIMENT(r1_synthetic)                    \
    EXPERIMENT(eps_grid)                        \
    EXPERIMENT(eps1)                            \
    EXPERIMENT(missing)                         \
    EXPERIMENT(scalability)                     \
    EXPERIMENT(topology)                        \
    EXPERIMENT(variances)                       \
    EXPERIMENT(classification)                  \
    EXPERIMENT(analysis)                        \
    EXPERIMENT(heldout)                         \
    EXPERIMENT(heterogeneous)

namespace couplet {

#define COUPLET_DECLARE(name) extern const Experiment name##_experiment;
COUPLET_FOR_EACH_EXPERIMENT(COUPLET_DECLARE)
#undef COUPLET_DECLARE

std::span<const Experiment* const> experiments() {
#define COUPLET_ADDRESS(name) &name##_experiment,
    static const std::array all{COUPLET_FOR_EACH_EXPERIMENT(COUPLET_ADDRESS)};
#undef COUPLET_ADDRESS
    return all;
}

std::vector<const Experiment*> find_experiments(std::span<const std::string> names) {
    const auto all = experiments();
    for (const std::string& name : names) {
        const bool known =
            std::any_of(all.begin(), all.end(), [&](const Experiment* one) { return one->name == name; });
        if (known) continue;
        std::string list;
        for (const Experiment* one : all) list += (list.empty() ? "" : ", ") + std::string(one->name);
        throw InputError({"experiment", "'" + name + "'", "all, quick, or one of " + list, ""});
    }
    std::vector<const Experiment*> chosen;
    for (const Experiment* one : all) {
        const bool wanted = names.empty() || std::find(names.begin(), names.end(), one->name) != names.end();
        if (wanted) chosen.push_back(one);
    }
    return chosen;
}

}  // namespace couplet
