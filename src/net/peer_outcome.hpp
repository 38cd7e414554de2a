#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/net/peer.hpp"
#include "membership.hpp"
#include "peer_network.hpp"
#include "peer_work.hpp"

namespace couplet::net {

/// Whether the reports of all members are here; they come before the decision, unless a connection broke in between.
bool all_reported(const Membership& membership, const std::vector<Index>& members);

/// An epoch whose result is decided.
struct DecidedEpoch {
    const PeerNetwork& network;
    const wire::JobSpec& spec;
    const Membership& membership;
    const std::vector<Index>& members;  ///< ascending
    const PeerOutput& output;           ///< of this peer
};
/// What this peer and the reports of the others make together; without restarts, messages_sent and seconds_total, which
/// are the caller's. Doubts about what the others report take the certificate away.
PeerResult make_peer_result(const DecidedEpoch& decided);

/// Why there is no result, from a membership that has failed: who was there, and who was not and why. `refusals` are
/// the reasons of neighbours that could not be spoken with.
RunError no_result(const PeerNetwork& network, const Membership& membership,
                   const std::map<Index, std::string>& refusals, std::chrono::milliseconds deadline);

}  // namespace couplet::net
