#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/net/doubts.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// What a peer has at the end of a job. The personal core is in the units of its data and never left the process.
struct PeerResult {
    std::string job;  ///< the same at every member
    wire::JobSpec spec;
    std::string graph;
    Features features;
    Schema schema;          ///< of the features, in their order
    std::string reordered;  ///< what of the data was put in that order, in words; empty: nothing
    Matrix<double> personal;
    std::optional<double> rel_error_bound;  ///< not when there are doubts
    std::vector<Doubt> doubts;              ///< what peers report that speaks against a certificate
    std::optional<double> rse;  ///< of all members together; nothing when a member's report was lost, as the next
    std::optional<double> rse_heldout;
    std::vector<double> rse_per_client;  ///< in the order of the members, as the next
    std::vector<Index> personal_ranks;
    std::vector<std::string> members;
    std::vector<std::string> missing;
    std::vector<Edge> links;  ///< that the members used, in their places
    Index place = 0;          ///< of this peer among the members
    Index restarts = 0;       ///< how often the job began again with fewer members, as far as this peer saw
    Index rounds = 0;
    double lambda2 = 0;
    Index iterations = 0;
    double numbers_per_link = 0;
    double numbers_total = 0;
    double bytes_total = 0;
    double numbers_sent = 0;  ///< by this peer
    Index messages_sent = 0;  ///< by this peer, of the running job
    double seconds_max = 0;   ///< of computing, of the slowest member
    double seconds_sum = 0;
    double seconds_total = 0;
    /// Of a job of masked sums, in which nobody tells how well the features fit its patients: this peer's own.
    std::optional<double> own_rse = {};
    std::optional<double> own_rse_heldout = {};
    std::optional<ShieldReport> shield = {};
};

struct PeerOptions {
    wire::JobSpec spec;
    std::optional<Schema> schema = {};               ///< of the job; nothing: the peers agree on one
    std::chrono::milliseconds deadline{60'000};      ///< of the whole job
    std::chrono::milliseconds gather{15'000};        ///< how long to wait for everybody before it begins without
    std::chrono::milliseconds link_deadline{5'000};  ///< a neighbour silent for so long is lost
    /// Hears the job (as a welcome) before anything is computed for it, the number of members (as a start) before every
    /// epoch, and every message of the job before it is sent; from several threads, one at a time. Throws InputError to
    /// refuse: run() ends with it, and the others go on without this peer.
    std::function<void(const wire::Message& message)> vet = {};
    /// What masked sums must keep, and what a job of them has come to once patients are counted, as ClientOptions.
    SumDemands demands = {};
    std::function<void(const ShieldPlan& plan, const std::string& job)> vet_plan = {};
    std::function<void(const MaskedSum& sum, const std::string& job)> vet_sum = {};
    /// Keeps the result, once it is decided.
    std::function<void(const PeerResult& result)> deliver = {};
    /// Sees every message of the job before it is sent; for tests.
    std::function<void(const wire::Message& message)> capture = {};
};

class PeerRun;

/// Takes part in a job of a decentralized network with the neighbours that the kit names: until the members of the
/// result are decided and all neighbours know it.
class PeerNode {
  public:
    /// Throws InputError for a kit that cannot be used or a job that is not decentralized. The tensor is this peer's
    /// data.
    PeerNode(const Kit& kit, std::shared_ptr<const Tensor<double>> x, PeerOptions options, Log& log);
    ~PeerNode();
    PeerNode(const PeerNode&) = delete;
    PeerNode& operator=(const PeerNode&) = delete;

    /// Throws RunError, which names who was there and who was not, when there is no result by the deadline, when the
    /// others went on without this peer, and when stopped.
    PeerResult run();
    /// Ends run() soon; from any thread.
    void stop();
    /// Whether a computation that run() could not interrupt goes on in a thread of its own. A process that ends then
    /// should do so without unloading its libraries: std::_Exit().
    static bool left_behind() noexcept;

  private:
    std::unique_ptr<PeerRun> run_;
};

}  // namespace couplet::net
