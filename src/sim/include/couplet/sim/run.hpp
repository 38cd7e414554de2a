#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// Shared by all networks and methods: loads clients, collects results, keeps time.
class SimulationRun {
  public:
    SimulationRun(const ClientSource& clients_of, SimulationOptions& wishes, const Job& what);

    Index clients() const { return source.clients(); }
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

    const ClientSource& source;
    SimulationOptions& options;
    Job job;
    SimulationResult result;
    std::vector<double> client_seconds;

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
