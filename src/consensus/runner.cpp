#include "couplet/consensus/runner.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "couplet/consensus/combine.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/tensor/partition.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {
namespace {

/// Columns handled together: two blocks of K rows fit in 512 KiB of second-level cache.
Index block_columns(Index nodes, Index columns) {
    constexpr Index numbers = 32 * 1024;
    return std::clamp<Index>(numbers / nodes, 16, 1024) < columns ? std::clamp<Index>(numbers / nodes, 16, 1024)
                                                                  : std::max<Index>(columns, 1);
}

/// Sums for the consensus error over some columns.
struct Squares {
    double initial = 0;
    double deviation = 0;
};

void copy_block(MatrixView<const double> from, MatrixView<double> to) {
    for (Index k = 0; k < from.rows; ++k) std::copy_n(from.row(k), from.cols, to.row(k));
}

Squares squares_of(MatrixView<const double> initial, MatrixView<const double> states, std::vector<double>& mean) {
    Squares result;
    mean.assign(static_cast<std::size_t>(initial.cols), 0);
    for (Index k = 0; k < initial.rows; ++k) add_state(mean.data(), initial.row(k), initial.cols);
    divide_state(mean.data(), static_cast<double>(initial.rows), initial.cols);
    for (Index k = 0; k < initial.rows; ++k) {
        for (Index i = 0; i < initial.cols; ++i) {
            const double gap = states(k, i) - mean[i];
            result.initial += initial(k, i) * initial(k, i);
            result.deviation += gap * gap;
        }
    }
    return result;
}

double error_from(const std::vector<Squares>& parts) {
    Squares total;
    for (const Squares& part : parts) {
        total.initial += part.initial;
        total.deviation += part.deviation;
    }
    return total.initial == 0 ? 0 : std::sqrt(total.deviation / total.initial);
}

/// Iterates on `own`, with `previous` as workspace; returns which of the two holds the result.
MatrixView<double> gossip(const ConsensusPlan& plan, MatrixView<double> own, MatrixView<double> previous) {
    std::vector<const double*> others;
    std::vector<double> weights;
    for (Index t = 0; t < plan.iterations; ++t) {
        const ConsensusStep step = plan.step(t);
        for (Index k = 0; k < own.rows; ++k) {
            others.clear();
            weights.clear();
            for (const Index j : plan.graph.neighbours(k)) {
                weights.push_back(plan.weight(k, static_cast<Index>(others.size())));
                others.push_back(own.row(j));
            }
            mix_states(previous.row(k), own.row(k), others.data(), weights.data(), plan.graph.degree(k), step.gain,
                       step.momentum, own.cols);
        }
        std::swap(own, previous);
    }
    return own;
}

void sum_over_tree(const ConsensusPlan& plan, MatrixView<double> own) {
    if (own.rows == 1) return;
    const BfsTree& tree = plan.tree;
    for (auto node = tree.order.rbegin(); node != tree.order.rend(); ++node) {
        for (const Index child : tree.children[*node]) add_state(own.row(*node), own.row(child), own.cols);
    }
    divide_state(own.row(tree.root), static_cast<double>(own.rows), own.cols);
    for (Index k = 0; k < own.rows; ++k) {
        if (k != tree.root) std::copy_n(own.row(tree.root), own.cols, own.row(k));
    }
}

void check_states(const ConsensusPlan& plan, MatrixView<const double> states) {
    if (states.rows != plan.graph.nodes()) {
        throw InputError({"consensus states", std::to_string(states.rows) + " rows",
                          std::to_string(plan.graph.nodes()) + ", one a node", ""});
    }
    parallel_for(states.rows, [&](Index k) {
        const auto bad = find_non_finite(std::span(states.row(k), static_cast<std::size_t>(states.cols)));
        if (!bad) return;
        throw InputError({"initial state of node " + std::to_string(k + 1),
                          "number " + std::to_string(*bad + 1) + " is not finite", "finite numbers",
                          "Check that node's data for NaN and infinities."});
    });
}

}  // namespace

ConsensusRun run_consensus(const ConsensusPlan& plan, MatrixView<double> states) {
    check_states(plan, states);
    const Index width = block_columns(states.rows, states.cols);
    const auto blocks = Partition::blocks(states.cols, width);
    const Index workers = std::min<Index>(blocks.count(), thread_count());
    std::vector<Squares> parts(static_cast<std::size_t>(blocks.count()));
    parallel_for(workers, [&](Index worker) {
        Matrix<double> first(states.rows, width);
        Matrix<double> second(states.rows, width);
        std::vector<double> mean;
        for (Index b = worker; b < blocks.count(); b += workers) {
            const MatrixView<double> block = states.cols_from(blocks.begin(b), blocks.length(b));
            MatrixView<double> own = first.view().cols_from(0, block.cols);
            const MatrixView<double> previous = second.view().cols_from(0, block.cols);
            copy_block(block, own);
            copy_block(block, previous);
            if (plan.engine == ConsensusEngine::tree) {
                sum_over_tree(plan, own);
            } else {
                own = gossip(plan, own, previous);
            }
            parts[b] = squares_of(block, own, mean);
            copy_block(own, block);
        }
    });
    return {plan.iterations, error_from(parts)};
}

double consensus_error(MatrixView<const double> initial, MatrixView<const double> states) {
    if (initial.rows != states.rows || initial.cols != states.cols) {
        throw InputError({"consensus error",
                          std::to_string(states.rows) + "x" + std::to_string(states.cols) + " states",
                          std::to_string(initial.rows) + "x" + std::to_string(initial.cols) + ", as at the start", ""});
    }
    if (initial.rows == 0) return 0;
    const auto blocks = Partition::blocks(initial.cols, block_columns(initial.rows, initial.cols));
    std::vector<Squares> parts;
    std::vector<double> mean;
    for (Index b = 0; b < blocks.count(); ++b) {
        const Index first = blocks.begin(b);
        const Index count = blocks.length(b);
        parts.push_back(squares_of(initial.cols_from(first, count), states.cols_from(first, count), mean));
    }
    return error_from(parts);
}

}  // namespace couplet
