#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "couplet/consensus/graph.hpp"
#include "couplet/wire/peer_message.hpp"

namespace couplet::net {

struct MembershipOptions {
    Graph graph;  ///< of all provisioned peers
    Index self = 0;
    wire::Incarnation incarnation = 0;
    Shape features = {};
    Index rows = 0;
    SchemaPrint schema = {};
    std::chrono::milliseconds link_deadline{5000};  ///< a neighbour silent for so long is lost
    std::chrono::milliseconds gather{15'000};       ///< how long the first epoch waits for everybody
    std::chrono::milliseconds deadline{60'000};     ///< of the job
};

/// Who takes part in a job of the decentralized network, and whether its result counts. A pure state machine: no
/// socket, thread or clock; times are those of the caller's own monotonic clock, so that clocks need not agree.
///
/// Every peer owns one record (whom it hears, what it has promised, proposed, committed to, and how far it is), which
/// is passed on from neighbour to neighbour; newer versions replace older ones, so loss, repetition and reordering of
/// bulletins do no harm. Everything follows from the records:
///
/// - A job runs in epochs. An epoch is a number, its members, and the links they use: a strict majority of the
///   provisioned peers that links alive both ways connect; later epochs only lose members.
/// - The first member of a component proposes it as the next epoch when a member or a link of the epoch is lost (or
///   everybody has come, or the time to gather is over). Who promises an epoch says nothing more of earlier ones. When
///   all its members have promised, the proposer commits it, and the job begins again from the start with them.
/// - Nobody is waited for for ever: when nothing is proposed in the time that news may take, the next member proposes
///   it; whoever does not promise in that time, or does not commit what all have promised, is left out of the next
///   proposal, as long as the others are a majority. A proposal that stands is not outbid, the highest of several wins.
/// - A member that has its result is finished; one that knows that all members are is informed; when a strict majority
///   of the provisioned peers is informed, the result is decided. A proposer that finds an informed member among those
///   who promised decides that member's epoch instead of committing its own.
///
/// A process that restarts has forgotten what it promised, so it is another process, which the epochs of the one before
/// leave out until the next job.
///
/// So two different results are never decided: a decided epoch has an informed majority, and every later epoch would
/// need the promise of one of them. A peer that is left out, and a component without a majority, fail and say why.
class Membership {
  public:
    using Time = std::chrono::milliseconds;

    /// Throws InputError for a graph of more than wire::most_peers.
    Membership(MembershipOptions options, Time now);

    /// Something arrived from a neighbour's process.
    void heard(Index neighbour, wire::Incarnation process, Time now);
    /// Whether a record says anything that is not known here. Cheap, so that those that are told again cost no more
    /// than this.
    bool is_news(const wire::PeerRecord& record) const;
    /// A bulletin arrived. Throws InputError, and changes nothing, for records that do not fit this network.
    void receive(const std::vector<wire::PeerRecord>& records, Time now);
    /// This peer has its result of that epoch.
    void finished(std::uint64_t epoch, const wire::PeerReport& report, Time now);
    void tick(Time now);

    /// Records that were not given out for this neighbour since the last reset(), so many at most.
    std::vector<wire::PeerRecord> news(Index neighbour, Index most);
    /// Whether there are any.
    bool has_news(Index neighbour) const;
    /// The neighbour may have missed what was sent: a new connection.
    void reset(Index neighbour);

    /// The epoch to run; number 0 while there is none. Another number: begin again with these members.
    const wire::Epoch& epoch() const noexcept { return own_.committed; }
    /// Places of its members, ascending.
    std::vector<Index> members() const;
    /// The links that they use, in places of all peers.
    std::vector<Edge> links() const;
    /// Whether there is a record of that member of the current epoch.
    bool is_known(Index peer) const {
        return find(peer, own_.committed.members[static_cast<std::size_t>(peer)]) != nullptr;
    }
    /// Whether there is one of every member: a commit can come before the record of somebody far away.
    bool knows_members() const;
    /// A member's latest record. Throws RunError unless it is one of the current epoch.
    const wire::PeerRecord& member(Index peer) const;
    bool decided() const noexcept { return own_.stage == wire::Stage::decided; }
    /// Why this peer has no result. Never set once decided.
    enum class Failure {
        left_out,  ///< the others went on without this process; see others()
        deadline,  ///< the job's deadline has passed
    };
    std::optional<Failure> failure() const noexcept { return failure_; }
    /// The epoch that left this peer out.
    const wire::Epoch& others() const noexcept { return others_; }
    /// Whether that neighbour, as this peer hears it, knows the decision or has no part in it.
    bool knows_decision(Index neighbour) const;
    /// After a decision: whether all neighbours that are still heard know of it.
    bool may_leave() const;
    bool hears(Index neighbour) const { return own_.hears[static_cast<std::size_t>(neighbour)] != 0; }
    /// Peers that can be reached now over links alive both ways, this one included.
    std::vector<Index> reachable() const;
    /// Whether anything was ever known of that peer.
    bool ever_seen(Index peer) const { return !records_[static_cast<std::size_t>(peer)].empty(); }
    /// Who said of itself, in the last that is known of it, that it hears that peer; this one is not among them.
    std::vector<Index> hearers(Index peer) const;

  private:
    using Members = std::vector<wire::Incarnation>;
    const wire::PeerRecord* find(Index peer, wire::Incarnation process) const;
    std::vector<const wire::PeerRecord*> unsent(Index neighbour) const;
    void check(const wire::PeerRecord& record) const;
    void store(const wire::PeerRecord& record);
    /// Connected to this peer over links alive both ways, within `among` (empty: everybody) and without `without`.
    Members component(const Members& among, const Members& without = {}) const;
    /// Links among them that are alive both ways.
    std::vector<bool> alive_links(const Members& among) const;
    wire::Epoch newest_epoch() const;
    bool is_borne_out(const wire::Epoch& epoch) const;
    void advance(Time now);
    void drop_silent(Time now);
    bool step(Time now);
    bool promise();
    bool adopt();
    bool progress();
    bool conclude_proposal();
    bool propose(Time now);
    /// What could be proposed now, kept in target_, and what is known of how it stands.
    struct Outlook {
        wire::Epoch newest;
        std::uint64_t promised = 0;                  ///< the highest of its members'
        const wire::PeerRecord* standing = nullptr;  ///< of the member whose proposal of it is to be waited for
    };
    Outlook look(Time now);
    bool is_wanted(const Outlook& outlook, Time now) const;
    /// The time that news may take through the whole of target_.
    Time news_time() const;
    void doubt_idle(const Outlook& outlook, Time now);
    void give_up(Time now);
    bool frozen() const { return own_.promised > own_.committed.number; }
    bool is_everybody(const wire::Epoch& epoch) const;  ///< over every link
    bool is_majority(std::size_t count) const { return 2 * count > static_cast<std::size_t>(nodes_); }
    std::uint64_t highest_known() const;  ///< of the numbers of all epochs
    /// Higher than that.
    std::uint64_t next_number() const;

    MembershipOptions options_;
    Index nodes_;
    Time begin_;
    wire::PeerRecord own_;
    wire::PeerRecord published_;
    std::vector<Time> last_heard_;
    /// By peer, one per process, the latest last; the own ones are not among them.
    std::vector<std::vector<wire::PeerRecord>> records_;
    wire::Epoch target_;  ///< what would be proposed now, without its number
    Time target_since_{0};
    std::uint64_t newest_ = 0;  ///< the latest epoch that was committed
    Time wanted_since_{0};      ///< since when the same epoch after the same one is wanted
    std::uint64_t standing_ = 0;
    Time standing_since_{0};  ///< since when the same proposal of it stands, or none
    Time proposed_at_{0};
    Members doubted_;  ///< of every peer, the process that is not waited for any more
    std::vector<std::map<std::pair<Index, wire::Incarnation>, std::uint64_t>> sent_;
    std::optional<Failure> failure_;
    wire::Epoch others_;
};

}  // namespace couplet::net
