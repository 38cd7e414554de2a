#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/consensus/graph.hpp"

namespace couplet {

/// How nodes that talk only to their neighbours find the average of their states.
enum class ConsensusEngine {
    automatic,    ///< finite_time where it is accurate and needs no more iterations, else chebyshev
    plain,        ///< x <- W x, the paper's iteration
    chebyshev,    ///< Chebyshev polynomials of the Laplacian over [l_2, l_max]
    finite_time,  ///< one factor I - L/l_t per distinct nonzero eigenvalue l_t, in Leja order
    tree,         ///< sums up a breadth-first tree from the centre, the average down it: exact
};

/// auto, plain, chebyshev, finite-time or tree; throws InputError for anything else.
ConsensusEngine parse_consensus_engine(std::string_view name);
std::string to_string(ConsensusEngine engine);
/// "auto" gives nothing, a number from 0 to max_consensus_iterations itself; throws InputError for anything
/// else.
std::optional<Index> parse_consensus_iterations(std::string_view text);

inline constexpr Index max_consensus_iterations = 1'000'000;

struct ConsensusOptions {
    ConsensusEngine engine = ConsensusEngine::automatic;
    std::string weights = "paper";         ///< see make_weights(); mixes in the plain engine, gives lambda2 in all
    std::optional<Index> iterations = {};  ///< exactly this many; nothing: as many as the target needs
    double target = 1e-10;                 ///< wanted consensus error, in (0, 1)
};

/// x <- x + gain y + momentum (x - x_before), y_k = sum over neighbours j of w_kj (x_j - x_k).
struct ConsensusStep {
    double gain = 1;
    double momentum = 0;
};

/// Everything a node needs besides its state; a plain value. All nodes must run the same plan: a step of one node's
/// plan against another step of its neighbour's is no average. On equal machines the same graph and options give the
/// same bits; machines that may round eigenvalues differently share one node's plan (engine, iterations, weights,
/// steps).
struct ConsensusPlan {
    ConsensusEngine engine = ConsensusEngine::plain;  ///< never automatic
    Graph graph;
    Index iterations = 0;                      ///< rounds of messages; for a tree 2 x its height
    std::vector<std::vector<double>> weights;  ///< of node k for its neighbours in order; empty: all 1
    std::vector<ConsensusStep> steps;          ///< one an iteration; empty: all {1, 0}
    BfsTree tree;                              ///< of the engine tree only
    double lambda2 = 0;                        ///< second_modulus() of the weights named in the options
    double predicted_error = 0;                ///< bound on consensus_error(); never below the rounding K u

    double weight(Index node, Index position) const { return weights.empty() ? 1 : weights[node][position]; }
    ConsensusStep step(Index iteration) const { return steps.empty() ? ConsensusStep{} : steps[iteration]; }
};

/// Decides engine, iterations and coefficients.
/// Iterations that reach the target:
/// - plain: ceil(ln(1/target)/ln(1/lambda2)), paper eq. L with constant 1;
/// - chebyshev: ceil(acosh(1/target)/acosh((l_max+l_2)/(l_max-l_2)));
/// - finite_time: the number of distinct nonzero eigenvalues; throws when its dry run misses the target;
/// - tree: 2 x height.
///
/// A number of iterations is kept to exactly: plain and chebyshev run that many; finite_time and tree, which are
/// averages only when complete, throw unless it is theirs; automatic is finite_time when that passes its test and needs
/// exactly that many, else chebyshev. One node never iterates.
///
/// Throws InputError also for a disconnected graph, weights that do not average (lambda2 = 1, plain only), and more
/// than max_consensus_iterations. Cost: two K x K eigenvalue problems, and for finite_time a dry run on the identity.
ConsensusPlan make_consensus_plan(const Graph& graph, const ConsensusOptions& options = {});

/// Iterations of x <- W x with the second modulus lambda2 that bring the consensus error to the target, at
/// least 1.
double plain_iterations(double lambda2, double target);
/// Same for Chebyshev polynomials over [l_2, l_max].
double chebyshev_iterations(double l_2, double l_max, double target);

}  // namespace couplet
