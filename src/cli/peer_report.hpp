#pragma once

#include <string>

#include "couplet/net/peer.hpp"
#include "session.hpp"

namespace couplet::cli {

/// The fields of `simulate --json` that a peer knows, and who is in the result; `output` is the folder written to.
Json peer_json(const net::PeerResult& result, const std::string& output);

/// For people: a line per member, then the totals.
std::string peer_text(const net::PeerResult& result, const std::string& output);

}  // namespace couplet::cli
