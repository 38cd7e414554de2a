#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "couplet/baselines/run_method.hpp"
#include "couplet/consensus/graph.hpp"
#include "couplet/core/error.hpp"
#include "couplet/sim/run.hpp"
#include "objective.hpp"

namespace couplet {

/// Stream of the job's seed from which everybody draws the same modes.
inline constexpr std::uint64_t mode_stream = 0x6370'6d6f'6465'0000;
/// Stream of what client k draws for itself, fibers and noise: this plus k.
inline constexpr std::uint64_t client_stream = 0x6370'636c'6965'6e74;

/// One client of a CP federation. `factors` holds its A_1 and its view of the shared A_2 ... A_N.
struct CpClient {
    PreparedClient data;
    std::optional<CpObjective> objective;
    Factors factors;
    Random random{0};
    double weight = 1;  ///< its part of the squared norm of all data

    /// Step of this relative length against the gradient of a mode: step / curvature times the gradient, plus the
    /// ridge. To be subtracted from the factor. Zero where the curvature is.
    Matrix<double> descent(Index mode, double step, Index fibers, double ridge = 0);
    /// Takes this A_1 and these A_2 ... A_N.
    void adopt(const Matrix<double>& personal, const Factors& shared);
    /// descent() taken.
    void descend(Index mode, double step, Index fibers, double ridge = 0);
};

/// What all CP methods share: clients with a common start, rounds with a trace and a stopping rule, counters, and the
/// end. A method is a function that calls train() with what one round does.
class CpRun {
  public:
    CpRun(SimulationRun& run, Method method, const BaselineOptions& options, const Tuning& tuning, Index rank);

    Index clients() const noexcept { return static_cast<Index>(clients_.size()); }
    Index order() const { return clients_.front().objective->shape().order(); }
    CpClient& client(Index k) { return clients_[static_cast<std::size_t>(k)]; }
    const Tuning& tuning() const noexcept { return tuning_; }
    const BaselineOptions& options() const noexcept { return options_; }
    Traffic& traffic() noexcept { return traffic_; }
    double norm2() const noexcept { return norm2_; }
    std::uint64_t seed() const noexcept { return run_.job.seed; }
    /// Numbers in A_2 ... A_N.
    double shared_numbers() const;
    /// step / (1 + decay t).
    double step(Index round) const;
    /// Links between peers; one client has none.
    const Graph& graph() const noexcept { return graph_; }
    const Matrix<double>& weights() const noexcept { return weights_; }

    /// body(k) for all clients in parallel, each timed.
    void each(const std::function<void(Index)>& body);
    /// Work of the coordinator, timed.
    void serve(const std::function<void()>& body);
    /// round(0), round(1), ... until the stopping rule holds or the budget is spent. Throws RunError that names the
    /// round (from 1) after which the model is not finite or far larger than the data.
    void train(const std::function<void(Index)>& round);
    /// Fits personal factors and gives everything back.
    MethodResult finish();

    std::optional<DpStatement> privacy;

  private:
    void start_peers();
    /// Adds a point to the trace; true when the rule says stop.
    bool evaluate(Index round);
    void count_evaluation();
    RunError diverged(Index round, const std::string& how) const;
    /// Throws RunError when the factors are not finite, or the model is a thousand times as large as the data.
    void check_diverged(Index round) const;
    void fit_clients();
    /// Peers that still differ take the mean of their shared factors, summed up a tree and sent down it: counted. One
    /// more point of the trace. Otherwise each would report with features of its own, and not federating would win.
    void agree();
    /// How far apart the peers' shared factors are: the root of sum_k ||A_k - mean||^2 / sum_k ||A_k||^2.
    double disagreement() const;

    SimulationRun& run_;
    Method method_;
    BaselineOptions options_;
    Tuning tuning_;
    Index rank_;
    std::vector<CpClient> clients_;
    Graph graph_;
    Matrix<double> weights_;
    Traffic traffic_;
    double norm2_ = 0;
    double spread_ = 0;  ///< disagreement() after the last round
    double best_objective_ = 0;
    Index stale_ = 0;  ///< evaluations without progress
    Index rounds_ = 0;
    MethodResult result_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void train_trip(CpRun& run);
void train_fedgtf_ef(CpRun& run);
void train_fedgtf_ef_pc(CpRun& run);
void train_dpfact(CpRun& run);
void train_dpsgd(CpRun& run);
void train_cidertf(CpRun& run);

}  // namespace couplet
