#include "couplet/consensus/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "couplet/consensus/runner.hpp"
#include "couplet/consensus/spectrum.hpp"
#include "couplet/consensus/text_file.hpp"
#include "couplet/consensus/weights.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::array<std::pair<ConsensusEngine, const char*>, 5> engine_names{
    {{ConsensusEngine::automatic, "auto"},
     {ConsensusEngine::plain, "plain"},
     {ConsensusEngine::chebyshev, "chebyshev"},
     {ConsensusEngine::finite_time, "finite-time"},
     {ConsensusEngine::tree, "tree"}}};

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

/// Rounding that no engine gets under: K u, u = 2^-53.
double rounding_floor(const Graph& graph) {
    return static_cast<double>(graph.nodes()) * std::numeric_limits<double>::epsilon() / 2;
}

Index checked_iterations(double wanted, const ConsensusOptions& options) {
    if (options.iterations) return *options.iterations;
    if (!(wanted <= static_cast<double>(max_consensus_iterations))) {
        throw InputError({"consensus iterations",
                          short_number(wanted) + " to reach the target " + short_number(options.target),
                          "at most " + std::to_string(max_consensus_iterations),
                          "Use the consensus chebyshev or tree, or give the number of iterations."});
    }
    return static_cast<Index>(wanted);
}

void plan_plain(ConsensusPlan& plan, const Matrix<double>& weights, const ConsensusOptions& options) {
    // Eigenvalues carry an error of a few K u; anything closer to 1 cannot be told from 1.
    if (plan.lambda2 >= 1 - 8 * rounding_floor(plan.graph)) {
        throw InputError({"weights " + options.weights, "a second eigenvalue of modulus " + short_number(plan.lambda2),
                          "less than 1, or the states never agree", "Use the weights metropolis or best-constant."});
    }
    plan.iterations = checked_iterations(plain_iterations(plan.lambda2, options.target), options);
    plan.predicted_error = std::pow(plan.lambda2, static_cast<double>(plan.iterations));
    for (Index k = 0; k < plan.graph.nodes(); ++k) {
        std::vector<double> row;
        for (const Index j : plan.graph.neighbours(k)) row.push_back(weights(k, j));
        plan.weights.push_back(std::move(row));
    }
}

/// x_{t+1} = x_{t-1} + omega (x_t - (2/(l_2+l_max)) L x_t - x_{t-1}), omega_{t+1} = 1/(1 - omega_t r^2/4)
/// with r = (l_max-l_2)/(l_max+l_2) (Golub and Varga 1961). The error polynomial is T_t(x/r)/T_t(1/r).
void plan_chebyshev(ConsensusPlan& plan, double l_2, double l_max, const ConsensusOptions& options) {
    plan.iterations = checked_iterations(chebyshev_iterations(l_2, l_max, options.target), options);
    const double r = (l_max - l_2) / (l_max + l_2);
    double omega = 1;
    for (Index t = 0; t < plan.iterations; ++t) {
        if (t == 1) omega = 1 / (1 - r * r / 2);
        if (t > 1) omega = 1 / (1 - omega * r * r / 4);
        plan.steps.push_back({2 * omega / (l_2 + l_max), omega - 1});
    }
    plan.predicted_error = 1;
    if (plan.iterations > 0) {
        plan.predicted_error = r > 0 ? 1 / std::cosh(static_cast<double>(plan.iterations) * std::acosh(1 / r)) : 0;
    }
}

/// Fills in the factors and runs them on the identity: the prediction is what rounding makes of an exact
/// average.
void plan_finite_time(ConsensusPlan& plan, const std::vector<double>& eigenvalues) {
    plan.iterations = static_cast<Index>(eigenvalues.size());
    for (const double l : leja_order(eigenvalues)) plan.steps.push_back({1 / l, 0});
    auto states = Matrix<double>::identity(plan.graph.nodes());
    run_consensus(plan, states);
    const double mean = 1 / static_cast<double>(plan.graph.nodes());
    double squares = 0;
    for (Index i = 0; i < states.size(); ++i) squares += (states.data()[i] - mean) * (states.data()[i] - mean);
    // The comparison also turns an overflow in an unstable product into "infinite".
    plan.predicted_error = squares >= 0 ? std::sqrt(squares) : std::numeric_limits<double>::infinity();
}

void require_exactly(const ConsensusPlan& plan, const ConsensusOptions& options) {
    if (!options.iterations || *options.iterations == plan.iterations) return;
    throw InputError({"consensus iterations", std::to_string(*options.iterations),
                      "exactly " + std::to_string(plan.iterations) + " for " + to_string(plan.engine) +
                          " on this graph, because it averages only when complete",
                      "Use auto, or the consensus chebyshev for a number of your choice."});
}

/// finite_time if it passes the test of the automatic choice, else chebyshev.
void plan_automatic(ConsensusPlan& plan, const std::vector<double>& eigenvalues, const ConsensusOptions& options) {
    const double l_2 = eigenvalues.front();
    const double l_max = eigenvalues.back();
    const auto factors = static_cast<Index>(eigenvalues.size());
    const bool few = options.iterations
                         ? *options.iterations == factors
                         : static_cast<double>(factors) <= chebyshev_iterations(l_2, l_max, options.target);
    if (few) {
        ConsensusPlan candidate = plan;
        candidate.engine = ConsensusEngine::finite_time;
        plan_finite_time(candidate, eigenvalues);
        if (std::max(candidate.predicted_error, rounding_floor(plan.graph)) <= options.target / 10) {
            plan = std::move(candidate);
            return;
        }
    }
    plan.engine = ConsensusEngine::chebyshev;
    plan_chebyshev(plan, l_2, l_max, options);
}

/// Any engine that is a polynomial of the Laplacian.
void plan_on_laplacian(ConsensusPlan& plan, const ConsensusOptions& options) {
    const std::vector<double> eigenvalues = distinct_laplacian_eigenvalues(plan.graph);
    if (options.engine == ConsensusEngine::chebyshev) {
        return plan_chebyshev(plan, eigenvalues.front(), eigenvalues.back(), options);
    }
    if (options.engine == ConsensusEngine::automatic) return plan_automatic(plan, eigenvalues, options);
    plan_finite_time(plan, eigenvalues);
    require_exactly(plan, options);
    if (options.iterations || plan.predicted_error <= options.target) return;
    throw InputError(
        {"consensus finite-time", "an error of " + short_number(plan.predicted_error) + " from rounding on this graph",
         "at most the target " + short_number(options.target),
         "Use auto, chebyshev or tree, or ask for " + std::to_string(plan.iterations) + " iterations to accept it."});
}

void check_options(const ConsensusOptions& options) {
    if (!(options.target > 0 && options.target < 1)) {
        throw InputError({"consensus target", short_number(options.target), "a number between 0 and 1", ""});
    }
    if (options.iterations && (*options.iterations < 0 || *options.iterations > max_consensus_iterations)) {
        throw InputError({"consensus iterations", std::to_string(*options.iterations),
                          "0 to " + std::to_string(max_consensus_iterations), ""});
    }
}

}  // namespace

ConsensusEngine parse_consensus_engine(std::string_view name) {
    for (const auto& [engine, known] : engine_names) {
        if (name == known) return engine;
    }
    throw InputError({"consensus", "'" + std::string(name) + "'", "auto, plain, chebyshev, finite-time or tree", ""});
}

std::string to_string(ConsensusEngine engine) {
    return std::find_if(engine_names.begin(), engine_names.end(),
                        [&](const auto& entry) { return entry.first == engine; })
        ->second;
}

std::optional<Index> parse_consensus_iterations(std::string_view text) {
    if (text == "auto") return std::nullopt;
    long long value = 0;
    if (!parse_integer(text, value) || value < 0 || value > max_consensus_iterations) {
        throw InputError({"consensus iterations", "'" + std::string(text) + "'",
                          "auto or a number from 0 to " + std::to_string(max_consensus_iterations), ""});
    }
    return value;
}

double plain_iterations(double lambda2, double target) {
    return std::max(1.0, std::ceil(std::log(1 / target) / std::log(1 / lambda2)));
}

double chebyshev_iterations(double l_2, double l_max, double target) {
    if (l_max <= l_2) return 1;
    return std::max(1.0, std::ceil(std::acosh(1 / target) / std::acosh((l_max + l_2) / (l_max - l_2))));
}

ConsensusPlan make_consensus_plan(const Graph& graph, const ConsensusOptions& options) {
    check_options(options);
    graph.require_connected();
    ConsensusPlan plan;
    plan.engine = options.engine;
    plan.graph = graph;
    const Matrix<double> weights = make_weights(options.weights, graph);
    plan.lambda2 = second_modulus(weights);
    if (options.engine == ConsensusEngine::tree) {
        plan.tree = graph.bfs_tree(graph.centre());
        plan.iterations = 2 * plan.tree.height;
        require_exactly(plan, options);
    } else if (graph.nodes() == 1) {
        // One node is its own average: no engine has anything to do.
        if (plan.engine == ConsensusEngine::automatic) plan.engine = ConsensusEngine::finite_time;
    } else if (options.engine == ConsensusEngine::plain) {
        plan_plain(plan, weights, options);
    } else {
        plan_on_laplacian(plan, options);
    }
    plan.predicted_error = std::max(plan.predicted_error, rounding_floor(graph));
    return plan;
}

}  // namespace couplet
