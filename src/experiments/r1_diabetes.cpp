#include "r1_sweep.hpp"

namespace couplet {
namespace {

ExperimentResult run_r1_diabetes(Lab& lab) {
    return run_r1_sweep(
        {.name = "r1_diabetes",
         .data = DataId::diabetes,
         .clients = 4,
         .ranks = lab.by_effort<std::vector<Index>>({15, 25, 35, 45, 50, 60, 100}, {15, 50, 100}, {3, 6})},
        lab);
}

}  // namespace

extern const Experiment r1_diabetes_experiment{
    .name = "r1_diabetes",
    .title = "Rank R1 on Diabetes",
    .about =
        "How error, communication and time depend on the rank R1, with four clients, in a star and among peers that "
        "average L times with magic-square weights. Hollow marks are the paper's numbers.",
    .paper = "Table: varying R1 and L, Diabetes",
    .data = {DataId::diabetes},
    .run = run_r1_diabetes};

}  // namespace couplet
