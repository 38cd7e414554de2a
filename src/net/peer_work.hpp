#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "couplet/ctt/peer.hpp"
#include "couplet/secure/secure_peer.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// What a peer has computed in an epoch.
struct PeerOutput {
    Features features;
    Matrix<double> personal;  ///< in the units of its data
    wire::PeerReport report;
    std::optional<double> rel_error_bound;
    Index rounds = 0;
    double lambda2 = 0;
    Index iterations = 0;
    Schema schema = {};                  ///< of the features
    std::string reordered = {};          ///< what was put in its order, in words
    std::optional<double> own_rse = {};  ///< of a job of masked sums, which reports nobody's to others
    std::optional<double> own_rse_heldout = {};
    std::optional<ShieldReport> shield = {};
};

/// What masked sums of an epoch need besides the data.
struct MaskedEpoch {
    Signer sign;
    Verifier verify;  ///< of a member by its place
    Key session{};    ///< of the job, the epoch and its members
    SumDemands demands = {};
};

/// No honest peer sends a message with a larger payload: it has at most twice as many numbers as the square of the
/// number of features, a basis of the whole space, or rows and cores of as many.
Index largest_payload_bytes(const Shape& features) noexcept;

/// Runs ctt's peer of one epoch after another in a thread of its own, so that whoever owns it stays responsive.
/// Messages of an epoch that is over are dropped.
class PeerWork {
  public:
    struct Hooks {
        std::function<void(std::uint64_t epoch, const PeerMessage& message)> send;
        std::function<void(std::uint64_t epoch, PeerOutput output)> finished;
        std::function<void(std::uint64_t epoch, const std::string& reason)> failed;
        /// A message that no honest peer sends; it changed nothing.
        std::function<void(Index from, const std::string& reason)> refused;
        /// What a job of masked sums has come to, before the first sum over the data; throws InputError to refuse.
        std::function<void(const ShieldPlan& plan)> plan = {};
        /// Masked numbers are about to be sent in this epoch.
        std::function<void(std::uint64_t epoch)> masked = {};
        /// Of a sum over the data this peer's numbers are about to be sent; throws InputError to refuse.
        std::function<void(const MaskedSum& sum)> sum = {};
    };
    PeerWork(wire::JobSpec spec, std::shared_ptr<const Tensor<double>> x, Hooks hooks);
    /// No hook is called after it. What is being computed cannot be interrupted: it is waited for a moment and then
    /// left to itself.
    ~PeerWork();
    PeerWork(const PeerWork&) = delete;
    PeerWork& operator=(const PeerWork&) = delete;

    /// Forgets the epoch before. `graph` is that of the members, `place` this peer's among them.
    /// The data is put in the order of `schema`.
    void begin(std::uint64_t epoch, Graph graph, Index place, Schema schema, std::optional<MaskedEpoch> masked = {});
    /// `from` is a place among the members. Returns false, and forgets the message, when more of that neighbour's
    /// messages wait than an honest one sends before it hears from this peer.
    [[nodiscard]] bool receive(std::uint64_t epoch, Index from, PeerMessage message);

    /// Whether a computation that was left to itself still runs in this process.
    static bool left_behind() noexcept;

  private:
    class Run;
    class Loop;
    std::shared_ptr<Loop> loop_;  ///< the thread has it too
    std::thread thread_;
};

}  // namespace couplet::net
