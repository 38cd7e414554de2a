#include "r1_sweep.hpp"

namespace couplet {
namespace {

ExperimentResult run_r1_synthetic(Lab& lab) {
    return run_r1_sweep({.name = "r1_synthetic",
                         .data = DataId::synthetic3,
                         .clients = 4,
                         .ranks = lab.by_effort<std::vector<Index>>({5, 7, 10, 12, 15, 18, 20}, {5, 10, 20}, {2, 4})},
                        lab);
}

}  // namespace

extern const Experiment r1_synthetic_experiment{
    .name = "r1_synthetic",
    .title = "Rank R1 on synthetic data",
    .about =
        "The same on synthetic tensors of order 3: sparse Gaussian feature matrices, uniform personal matrices, CP "
        "rank 20. Hollow marks are the paper's numbers.",
    .paper = "Table: varying R1 and L, synthetic",
    .data = {DataId::synthetic3},
    .run = run_r1_synthetic};

}  // namespace couplet
