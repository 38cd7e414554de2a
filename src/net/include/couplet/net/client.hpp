#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "couplet/net/status.hpp"
#include "couplet/wire/site.hpp"

namespace couplet::net {

/// What a client has at the end of a job. Numbers and bytes are those of the attempt that gave the result, each message
/// once, as in CoordinatorResult.
struct ClientResult : wire::SiteResult {
    Centring centring;    ///< of the data that features and personal core are of; empty: as it is
    PreparedClient data;  ///< as the job saw it, held-out patients too; without tensors in a job with missing entries
    std::string doubt;    ///< why there is no bound though the coordinator claims one; empty: no doubt
    double bytes_overhead = 0;  ///< as in CoordinatorResult
};

struct ClientOptions {
    /// How long the client waits for anything that brings the job forward before it gives up, whether the coordinator
    /// is out of reach, refuses to keep what was sent, or is silent; its own computing does not count. Nothing: for
    /// ever.
    std::optional<std::chrono::milliseconds> deadline = {};
    bool insecure = false;  ///< no TLS, loopback only
    /// Called with the job before anything is computed for it; may throw InputError to leave.
    std::function<void(const std::string& job)> on_join = {};
    /// Hears the welcome and every question before anything is computed for it, and every answer before it is sent.
    /// Throws InputError to refuse: the coordinator is told why, and run() ends with it.
    std::function<void(const wire::Message& message)> vet = {};
    /// Of secure sums: what this client demands of a cohort, and what hears the plan before anything is computed from
    /// the data; throws InputError to refuse.
    SumDemands demands = {};
    std::function<void(const ShieldPlan& plan, const std::string& job)> vet_plan = {};
    /// Hears of every masked sum over the data before numbers leave, and before it is agreed whose they are.
    std::function<void(const MaskedSum& sum, const std::string& job)> vet_sum = {};
    /// Keeps the result. Called before the coordinator is told that the client is done, and perhaps again after a
    /// connection broke: must be able to replace what it wrote for the same job.
    std::function<void(const ClientResult& result)> deliver = {};
    /// Sees every byte that is handed to the connection, as serialised; for tests.
    std::function<void(std::span<const char> bytes)> capture = {};
};

/// Takes part in a job of the kit's coordinator. Connects with backoff, which grows until the job moves on, and again
/// whenever the connection breaks; what was answered before is sent again, not computed again. What it did is in
/// audit.jsonl of the kit.
class Client {
  public:
    /// Throws InputError for a kit that cannot be used. The tensor is this client's data.
    Client(const Kit& kit, std::shared_ptr<const Tensor<double>> x, ClientOptions options, Log& log);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Until the job is done. Throws RunError when refused, when the coordinator stays away, and when stopped.
    ClientResult run();
    /// Ends run() soon; from any thread.
    void stop();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// How the coordinator of the kit's federation stands; the kit may be a client's or its own. Throws RunError when it
/// cannot be reached within `patience`.
StatusReport fetch_status(const Kit& kit, bool insecure, std::chrono::milliseconds patience);

}  // namespace couplet::net
