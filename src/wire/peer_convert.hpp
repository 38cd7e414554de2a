#pragma once

#include <string>

#include "couplet/wire/message.hpp"
#include "payload_reader.hpp"
#include "peer_bodies.pb.h"

/// The part of convert.hpp that is about messages between peers.
namespace couplet::wire {

v1::Greeting to_proto(const Greeting& greeting);
v1::Beat to_proto(const Beat& beat);
v1::PeerState to_proto(const PeerState& state);
v1::PeerBasis to_proto(const PeerBasis& basis);
v1::PeerMerge to_proto(const PeerMerge& merge);
v1::Bulletin to_proto(const Bulletin& bulletin);

Promise promise_of(const v1::PeerState& p, const std::string& who);
Promise promise_of(const v1::PeerBasis& p, const std::string& who);
Promise promise_of(const v1::PeerMerge& p, const std::string& who);

Greeting peer_body(const v1::Greeting& p, const std::string& who);
Beat peer_body(const v1::Beat& p);
PeerState peer_body(const v1::PeerState& p, const Promise& promised, PayloadReader& payload, const std::string& who);
PeerBasis peer_body(const v1::PeerBasis& p, PayloadReader& payload);
PeerMerge peer_body(const v1::PeerMerge& p, const Promise& promised, PayloadReader& payload, const std::string& who);
Bulletin peer_body(const v1::Bulletin& p, const std::string& who);

}  // namespace couplet::wire
