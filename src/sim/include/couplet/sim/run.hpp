#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "couplet/ctt/message_bytes.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// Adds the seconds of its life to a number.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds) : seconds_(seconds) {}
    ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    double& seconds_;
    Clock::time_point start_ = Clock::now();
};

/// Shared by all networks and methods: loads clients, collects results, keeps time.
class SimulationRun {
  public:
    SimulationRun(const ClientSource& source, SimulationOptions& options, const Job& job);

    Index clients() const { return source_.clients(); }
    PreparedClient prepare(Index k) const;
    std::string name(Index k) const;
    /// For methods without a coordinator of their own: the clients agree on a schema (or fit the one that is given),
    /// and everybody's data is put in its order.
    Start align_clients(const std::vector<Hello>& hellos, const std::function<PreparedClient&(Index)>& client);
    /// Runs body(k) for all clients in parallel batches, timing each, then in_order(k) one by one.
    void for_clients(const char* phase, const std::function<void(Index)>& body,
                     const std::function<void(Index)>& in_order);
    /// Books a client's fit; call in the order of the clients. Held-out patients are fitted to the features here.
    void book(Index k, const PreparedClient& client, const PersonalFit& fit, const Features& features);
    /// The same with held-out patients fitted by the caller.
    void book(Index k, const PreparedClient& client, const PersonalFit& fit, const PersonalFit& heldout);
    /// Fits the features to every client and books the fits.
    void refit_all(const std::vector<PreparedClient>& clients, const Features& features);
    SimulationResult finish();

    const ClientSource& source_;
    SimulationOptions& options_;
    Job job_;
    SimulationResult result_;
    std::vector<double> client_seconds_;

  private:
    Index first_number_ = 1;  ///< of clients without names
    double error2_ = 0;
    double norm2_ = 0;
    double heldout_error2_ = 0;
    double heldout_norm2_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void run_star(SimulationRun& run);
void run_peers(SimulationRun& run);

}  // namespace couplet
