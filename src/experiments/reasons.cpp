#include "couplet/experiments/reasons.hpp"

#include <cmath>

#include "couplet/experiments/method_bench.hpp"

namespace couplet {
namespace {

std::string metric_of(const std::string& figure) { return figure.substr(0, figure.find('_')); }

/// What the paper leaves open about its data; empty where that is little.
std::string data_reason(DataId data) {
    if (data == DataId::diabetes) return "The paper does not name its 20 x 24 columns, and ours are others";
    if (data == DataId::ecg) {
        return "The paper does not say how beats of 140 points became 110 x 140, and ours are outer products";
    }
    return "";
}

/// Few iterations leave the states of the nodes apart, so that it matters whose state serves whom.
bool consensus_is_short(const Row& row) { return row.variant == "L = 1" || row.variant == "L = 2"; }

std::string rse_reason(DataId data, const Row& row) {
    const std::string open = data_reason(data);
    if (MethodBench::has(row.method)) {
        return open.empty() ? "The paper gives no parameters for this method; ours are tuned."
                            : open + "; nor does it give parameters for this method, and ours are tuned.";
    }
    if (row.method == "printed-dec" && consensus_is_short(row)) {
        return "As printed, node k keeps its own state Z_k[L]; the paper's tables fit another evaluation, every client "
               "with another node's Z_j[L-1], which is shown beside" +
               (open.empty() ? "." : ". Also, other data: " + open + ".");
    }
    if (!open.empty()) {
        return open +
               ": how much an average cancels depends on the data, since signs and rotations of the D_k are free.";
    }
    return "The generator's factors are only described in words; a few rank-one terms decide RSE at small R1, and "
           "other "
           "draws of them differ by this much.";
}

}  // namespace

bool differs_from_paper(const Row& row) noexcept {
    return row.paper && *row.paper != 0 && std::abs(row.y.mean / *row.paper - 1) > explained_difference;
}

std::string reason(DataId data, const Row& row) {
    const std::string metric = metric_of(row.figure);
    if (metric == "rse") return rse_reason(data, row);
    if (metric == "numbers") {
        return "R2 follows from eps1 and the spectrum of the data, which is not the paper's: what is sent is R1 I2 R2 "
               "+ "
               "R2 I3.";
    }
    if (metric == "rounds") {
        return "The paper gives no stopping rule; ours trains for 75 rounds, unless the error stops falling long "
               "before.";
    }
    const std::string machine = "Another machine and another program: the paper timed MATLAB 2019a on an i5-11400F";
    return machine + (MethodBench::has(row.method) ? ", and gives no stopping rule for this method." : ".");
}

void explain_differences(ExperimentResult& result, DataId data) {
    for (Row& row : result.rows) {
        if (differs_from_paper(row)) row.note = reason(data, row);
    }
}

}  // namespace couplet
