#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/saved_merge.hpp"
#include "couplet/net/doubts.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "couplet/net/status.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// The fields of `simulate --json` that a coordinator knows, and who is in the result.
struct CoordinatorResult {
    std::string job;
    std::vector<std::string> members;  ///< in the order of the fields below
    std::vector<std::string> late;     ///< merged afterwards
    std::vector<std::string> missing;
    std::optional<MissingReport> imputed;  ///< with missing entries
    std::optional<double> rse;             ///< once all have reported; nothing after a late merge, see below
    std::optional<double> rse_heldout;     ///< likewise
    std::vector<double> rse_per_client;  ///< of members, then late: each with the features that it got; empty: unknown
    std::vector<Index> rse_late_merges;  ///< how many late merges are in the features of each of these errors
    std::optional<double> rel_error_bound;  ///< not when there are doubts
    std::vector<Doubt> doubts;              ///< what clients say that speaks against a certificate
    std::vector<Index> ranks;
    std::vector<Index> personal_ranks;
    Index rounds = 0;
    Schema schema;  ///< of the features
    Index resumed_clients = 0;
    std::vector<std::string> replaced;   ///< of the resumed merge, by clients that came again
    std::optional<ShieldReport> shield;  ///< of secure sums
    double numbers_up_per_client = 0;
    double numbers_down_per_client = 0;
    double numbers_total = 0;
    /// Of questions, answers and features, each message once: of the attempt that gave the result and of late merges;
    /// of secure sums everything that passed.
    double bytes_up = 0;
    double bytes_down = 0;
    double bytes_overhead = 0;  ///< of greetings, the job, its schema, reports and last words, both ways
    double seconds_clients_max = 0;
    double seconds_clients_sum = 0;
    double seconds_server = 0;
    double seconds_total = 0;
    wire::JobSpec spec;
};

struct CoordinatorOptions {
    wire::JobSpec spec;
    std::optional<Index> min_clients = {};                   ///< nothing: everybody on the roster
    std::optional<std::chrono::milliseconds> deadline = {};  ///< for every wait; nothing: for ever
    bool late_merge = false;                                 ///< clients that come later are merged (stack only)
    bool insecure = false;                                   ///< no TLS, loopback only
    std::optional<Schema> schema = {};                       ///< of the job; nothing: the one that most clients bring
    std::optional<SavedMerge> resume = {};
    /// Before anything is changed in the kit; what it throws leaves the constructor.
    std::function<void(const std::string& job)> on_job = {};
    /// The shared result, before any client gets it; called again with the same features when a restart delivers them.
    struct Delivery {
        const FeaturesMessage& features;
        const Schema& schema;
        const Centring& centring;  ///< of the data that the features are of; empty: as it is
        const std::string& job;
    };
    std::function<void(const Delivery& delivery)> on_features = {};
    /// The merge, for clients that join later (stack).
    std::function<void(const SavedMerge& merge)> on_state = {};
};

/// Runs a job for the clients of a kit. Everything that cannot be computed again is in KIT/job before anybody builds on
/// it: killed at any moment and started again with the same options, the job continues and gives the same bits.
class Coordinator {
  public:
    /// Opens the ports and the job: the one in the kit if it is not closed, or if it has the same flags and not
    /// everybody in its result has fetched it; with late_merge, one that lacks clients. Otherwise a new one, and that
    /// in the kit becomes KIT/job.old. Throws InputError for options that do not fit the job in the kit, for a centring
    /// of members who are not all there at once, and RunError when another coordinator runs on it.
    Coordinator(const Kit& kit, CoordinatorOptions options, Log& log);
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    /// Port of the status page; 0 when there is none.
    int http_port() const noexcept;
    /// Until the job is done. Throws RunError when too few clients came, and when stopped.
    CoordinatorResult run();
    /// Ends run() soon; from any thread.
    void stop();
    StatusReport status() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace couplet::net
