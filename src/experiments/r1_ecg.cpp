#include "r1_sweep.hpp"

namespace couplet {
namespace {

ExperimentResult run_r1_ecg(Lab& lab) {
    return run_r1_sweep({.name = "r1_ecg",
                         .data = DataId::ecg,
                         .clients = 2,
                         .ranks = lab.by_effort<std::vector<Index>>({20, 40, 60, 80, 100, 120}, {8, 24, 40}, {2, 4})},
                        lab);
}

}  // namespace

extern const Experiment r1_ecg_experiment{
    .name = "r1_ecg",
    .title = "Rank R1 on ECG",
    .about =
        "How error, communication and time depend on the rank R1 between patients and features, with two clients. The "
        "weights are the paper's eq. M, which on two nodes average exactly in one iteration.",
    .paper = "Figure: communication cost and RSE with varying R1, ECG",
    .data = {DataId::ecg},
    .run = run_r1_ecg};

}  // namespace couplet
