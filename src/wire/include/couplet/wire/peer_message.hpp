#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/peer.hpp"

/// Messages between the peers of a decentralized network, besides totals and features, which travel as in a star.
namespace couplet::wire {

/// A process of a peer: made from random bytes when it begins, so that a restart is somebody else. Never 0.
using Incarnation = std::uint64_t;

/// First on a link, both ways.
struct Greeting {
    Incarnation incarnation = 0;
    std::string job;             ///< what it was started to compute, as text; both ends must say the same
    std::string version;         ///< of the software
    Incarnation answers = 0;     ///< the process at the other end that is known here; 0: none
    std::uint64_t received = 0;  ///< numbered messages of that process that have arrived here
    Schema schema = {};          ///< of its data
};

/// Often, both ways: I am here, and this has arrived.
struct Beat {
    std::uint64_t received = 0;
};

struct PeerState {
    Index iteration = 0;
    Released<std::vector<double>> values;
};

struct PeerBasis {
    Matrix<double> basis;
};

struct PeerMerge {
    MergeState state;
};

/// Who takes part from when on, and over which links.
struct Epoch {
    std::uint64_t number = 0;               ///< 0: none
    std::vector<Incarnation> members = {};  ///< processes of all provisioned peers, in their order; 0: does not
    std::vector<bool> links = {};           ///< of all provisioned links, in their order
    friend bool operator==(const Epoch&, const Epoch&) = default;
};

/// How far a peer is with the epoch that it has committed to.
enum class Stage : std::uint8_t {
    working,
    finished,  ///< has its result
    informed,  ///< knows that every member has its result
    decided,   ///< knows that this result, and no other, is the job's
};

/// How well the features of an epoch fit a peer's patients, in the units of the job, and what it sent to find them.
struct PeerReport {
    Index rank = 0;
    double error2 = 0;
    double norm2 = 0;
    double heldout_error2 = 0;
    double heldout_norm2 = 0;
    double seconds = 0;
    double numbers = 0;
    double bytes = 0;
    Index links = 0;  ///< that it sent anything over
    friend bool operator==(const PeerReport&, const PeerReport&) = default;
};

/// What a peer says of itself. A newer version replaces an older one; nobody else may change it.
struct PeerRecord {
    Index peer = 0;  ///< its place among those provisioned
    Incarnation incarnation = 0;
    std::uint64_t version = 0;
    Shape features = {};
    Index rows = 0;
    std::vector<Incarnation> hears = {};  ///< of every provisioned peer; 0: not
    std::uint64_t promised = 0;           ///< takes no part in epochs before this one any more
    Epoch proposal = {};
    Epoch committed = {};
    Stage stage = Stage::working;
    std::optional<PeerReport> report = {};
    SchemaPrint schema = {};
    std::string signature = {};    ///< of signed_bytes(), by the peer that the record is of; empty: not signed yet
    std::string certificate = {};  ///< that peer's, as PEM
    friend bool operator==(const PeerRecord&, const PeerRecord&) = default;
};

/// Everything that a record says, as bytes: the same for equal records, signed or not.
std::string signed_bytes(const PeerRecord& record);

/// News of any peers, passed on from neighbour to neighbour.
struct Bulletin {
    std::vector<PeerRecord> records;
};

/// More would not fit the parts of a message that are checked before it is read.
inline constexpr Index most_peers = 256;
/// Every two of them.
inline constexpr Index most_links = most_peers * (most_peers - 1) / 2;
/// Records that fit one bulletin in a network of so many peers.
Index records_per_bulletin(Index peers);

struct Message;
struct Route;

/// A peer's message as it travels, and back. The route tells job, epoch (as attempt) and step.
Message to_message(const Route& route, const PeerMessage& message);
/// `to` is who receives it. Throws InputError that blames `who` for a kind that no running job sends.
PeerMessage to_peer_message(Message message, Index to, const std::string& who);
/// Greetings, beats and refusals belong to their connection; all others are numbered, and sent again after it broke.
bool is_numbered(const Message& message) noexcept;

}  // namespace couplet::wire
