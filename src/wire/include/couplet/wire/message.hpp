#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/completion.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/star.hpp"
#include "couplet/secure/secure_messages.hpp"
#include "couplet/wire/hex.hpp"
#include "couplet/wire/peer_message.hpp"

/// Messages of a federation as they travel: what ctt exchanges, and what only the network needs.
namespace couplet::wire {

/// Both sides must speak the same; a change that an older program would misread raises it.
inline constexpr std::uint32_t protocol_version = 2;

/// Names a job for ever; made from random bytes when it begins.
using JobId = std::array<std::uint8_t, 16>;
/// Throws InputError unless `text` is 32 hexadecimal digits.
JobId parse_job_id(std::string_view text);

/// Which answer a message is to which question. Repeated messages have the same route.
struct Route {
    std::uint32_t protocol = protocol_version;
    JobId job = {};             ///< zeros until the welcome has told it
    std::uint32_t attempt = 0;  ///< counts restarts of a job with fewer clients
    std::uint32_t step = 0;     ///< counts the coordinator's questions within an attempt
    friend bool operator==(const Route&, const Route&) = default;
};

struct Join {
    std::string name;     ///< who the client thinks it is; its certificate decides
    std::string version;  ///< of the software
};

/// Everything that must be the same at every party of a job.
struct JobSpec {
    Job job;
    Preparation preparation;
    /// NaN stands for entries that nobody knows, which are filled; nothing: NaN is refused. Only the coordinator needs
    /// the numbers.
    std::optional<CompletionLimits> missing = {};
    /// Only sums over all clients are seen (subspace); nothing: what each client sends is.
    std::optional<ShieldTerms> shield = {};
    CentringOptions centring = {};  ///< by sums over all members, before anything else
};

struct Welcome {
    JobSpec spec;
    Index place = 0;    ///< the client's, from 0
    Index clients = 0;  ///< on the roster
};

struct StartNotice {
    Start start;
    bool received = false;  ///< the answer is here already, from before an interruption
    bool refilled = false;  ///< on tensors as they were told to be filled or centred; otherwise as they were at first
};

/// Coordinator to clients; both questions are answered with a sum.
struct CentringRequest {
    Centring centring = {};  ///< nothing: tell the sums of your features; otherwise move by this and tell your norm
    bool answered = false;   ///< for whoever has forgotten: nothing is to be told
};

/// How well the shared features fit a client's patients; in the units of the job.
struct Report {
    Index rank = 0;
    double error2 = 0;
    double norm2 = 0;
    double heldout_error2 = 0;
    double heldout_norm2 = 0;
    double seconds = 0;  ///< of computing
};

struct Bye {
    std::vector<std::string> members;  ///< who is in the result
    std::vector<std::string> missing;  ///< who is on the roster and is not
    Index rounds = 0;
};

struct Refusal {
    std::string reason;
};

/// In the order of Kind.
using Body = std::variant<Join, Welcome, Hello, StartNotice, SumRequest, Upload, SumReply, FeaturesMessage, Report, Bye,
                          Refusal, MergeState, Greeting, Beat, PeerState, PeerBasis, PeerMerge, Bulletin, FillSums,
                          SecureRequest, SecureReply, CentringRequest>;

enum class Kind {
    join,
    welcome,
    hello,
    start,
    sum_request,
    upload,
    sum_reply,
    features,
    report,
    bye,
    refusal,
    state,  ///< never travels: kept by the coordinator for clients that join later
    greeting,
    beat,
    peer_state,
    peer_basis,
    peer_merge,
    bulletin,
    fill_sums,
    secure_request,
    secure_reply,
    centring,
};
std::string_view to_string(Kind kind) noexcept;

struct Message {
    Route route;
    Body body;

    Kind kind() const noexcept { return static_cast<Kind>(body.index()); }
};

/// What the head of a message promises, known before any number has arrived.
struct Head {
    Route route;
    Kind kind = Kind::join;
    Index payload_bytes = 0;
    Index chunk_bytes = 0;
    Shape modes = {};               ///< upload, features, state, peer_merge
    std::vector<Index> ranks = {};  ///< of the same; empty: dense rows
    Index rows = 0;                 ///< of an upload's block
    Index pass = 0;                 ///< of a sum
    /// How the block of such a message is coded; none: doubles. A code without its bytes.
    std::optional<BlockCode> code = {};
    Index numbers = 0;  ///< that the payload decodes to
};

/// Chunk sizes that are accepted; a multiple of 8.
inline constexpr Index least_chunk_bytes = Index{64} << 10;
inline constexpr Index most_chunk_bytes = Index{1} << 20;

}  // namespace couplet::wire
