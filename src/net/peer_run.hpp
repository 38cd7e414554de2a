#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/net/peer.hpp"
#include "credentials.hpp"
#include "early_mail.hpp"
#include "inbox.hpp"
#include "kit_lock.hpp"
#include "membership.hpp"
#include "peer_epoch.hpp"
#include "peer_links.hpp"
#include "peer_network.hpp"
#include "peer_trail.hpp"
#include "peer_vetting.hpp"
#include "peer_work.hpp"
#include "record_seal.hpp"
#include "slow_lane.hpp"

namespace couplet::net {

/// One job, from open() to close(). Links and the worker put events into the inbox; one thread handles them, and all
/// that is not said to be shared is its own.
class PeerRun {
  public:
    PeerRun(const Kit& kit, std::shared_ptr<const Tensor<double>> x, PeerOptions options, Credentials credentials,
            Log& log);

    /// Throws InputError when the site refuses the job, RunError when the kit's address cannot be had.
    void open();
    /// See PeerNode::run().
    PeerResult run();
    /// Threads that wait for the inbox end first. Neighbours see at once that this peer is gone: what it is computing
    /// can take long to end.
    void close();
    /// From any thread.
    void stop() { stopping_ = true; }
    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept;

  private:
    using milliseconds = std::chrono::milliseconds;
    using Clock = std::chrono::steady_clock;

    // What other threads put into the inbox.
    struct Connected {
        Index neighbour;
        wire::Incarnation process;
        bool is_new;
    };
    struct Turned {
        Index neighbour;
        std::string reason;
    };
    struct Finished {
        std::uint64_t epoch;
        PeerOutput output;
    };
    struct Failed {
        std::uint64_t epoch;
        std::string reason;
    };
    struct Deaf {
        std::string reason;
    };
    using Event = std::variant<Connected, Arrived, Turned, Finished, Failed, Deaf>;

    milliseconds now() const { return std::chrono::duration_cast<milliseconds>(Clock::now() - begun_); }
    const std::string& name(Index k) const { return network_.name(k); }

    // The job.
    void prepare();
    PeerWork::Hooks work_hooks();
    NeighbourEvents link_events();

    // Called by other threads.
    void send(std::uint64_t number, const PeerMessage& message);
    void vet_sum(MaskedSum sum);
    void recognise(const std::string& neighbour, const std::string& serial, const std::string& address);

    // Epochs.
    void begin_epoch();
    bool may_begin();
    void begin_work(const std::string& text);

    // What arrives.
    void on(const Connected& connected);
    void on(Arrived& arrived);
    void on(const Turned& turned);
    void on(Finished& finished);
    void on(const Failed& failed);
    void on(const Deaf& deaf);
    void hear(Index neighbour, const wire::Bulletin& bulletin);
    void take(Arrived arrived);

    // What is said.
    void turn();
    void watch_links();
    void post_news();
    void tell_waiting();
    void keep_traffic();

    // How it ends.
    bool told();
    bool gone_or_knowing();
    PeerResult make_result() const;
    void linger(milliseconds longest, const std::function<bool()>& enough);

    PeerNetwork network_;
    std::shared_ptr<const Tensor<double>> x_;
    PeerOptions options_;
    Log& log_;
    FileLock kit_lock_;
    Credentials credentials_;
    PeerTrail trail_;
    PeerVetting vetting_;
    wire::Incarnation process_;
    Schema own_schema_;
    LinkSettings settings_ = {};
    Clock::time_point begun_ = Clock::now();
    std::atomic<bool> stopping_ = false;
    std::atomic<Index> messages_sent_ = 0;
    std::atomic<bool> masked_ = false;  ///< whether masked numbers were sent, in whatever epoch
    Inbox<Event> inbox_;
    SlowLane slow_lane_;
    std::deque<Event> pending_;  ///< taken from it, still to be handled
    SharedEpoch shared_epoch_;

    std::optional<Membership> membership_;
    std::unique_ptr<RecordSeal> seal_;
    std::unique_ptr<PeerLinks> links_;
    std::unique_ptr<PeerWork> work_;
    EarlyMail mail_;

    PeerEpoch epoch_;
    Index epochs_ = 0;
    std::optional<PeerOutput> output_;
    std::optional<PeerResult> result_;
    std::optional<RunError> misfit_;

    std::map<Index, Clock::time_point> bulletin_at_;
    std::map<Index, std::string> refusals_;
    std::set<Index> heard_of_;
    std::string waiting_for_;
};

}  // namespace couplet::net
