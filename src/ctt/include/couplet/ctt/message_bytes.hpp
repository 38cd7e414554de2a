#pragma once

#include "couplet/ctt/peer.hpp"
#include "couplet/ctt/star.hpp"

namespace couplet {

/// Numbers travel in chunks of this many bytes unless a party asks for others.
inline constexpr Index default_chunk_bytes = Index{256} << 10;

/// Bytes of a message as `wire` serialises it with default chunks: a head with shapes and ranks, the numbers, a hash.
/// Here, so that a simulation counts what a network sends without a network; the tests of wire compare them.
Index serialised_bytes(const Upload& upload);
Index serialised_bytes(const SumReply& reply);
Index serialised_bytes(const SumRequest& request);
Index serialised_bytes(const FeaturesMessage& message);
Index serialised_bytes(const PeerBody& body);

/// The same for so many numbers without a shape: what peers exchange, and data on one pile.
double serialised_bytes(double numbers);

}  // namespace couplet
