#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "couplet/net/kit.hpp"

namespace couplet::net {

struct NeighbourStatus {
    std::string name;
    bool joined = false;  ///< it has shown its certificate in this job
    Index messages_sent = 0;
    Index messages_received = 0;
    double bytes_sent = 0;  ///< over the wire, repetitions included
    double bytes_received = 0;
    std::string last = {};  ///< when something passed last, in UTC; empty: never
};

/// How a peer's last job stands, as far as the peer itself has written it down.
struct TrailStatus {
    std::string party;
    std::string job = {};
    std::string text = {};    ///< what must be the same at all peers, in words
    std::string state = {};   ///< none, running, done, failed, interrupted
    std::string begun = {};   ///< in UTC
    std::string ended = {};   ///< likewise; empty: it has not
    std::uint64_t epoch = 0;  ///< 0: the peers gather
    Index epochs = 0;         ///< so many were begun
    std::vector<std::string> members = {};
    std::vector<std::string> missing = {};
    std::vector<NeighbourStatus> neighbours = {};
    std::string reason = {};  ///< of a failure
    std::string said = {};    ///< the last line of its log
    std::string version = {};
};

/// Reads audit.jsonl and log.jsonl in the kit of a peer, which has no coordinator that could be asked: nothing is sent
/// and nobody has to run. What passes over links is written down once a second. Lines that are none are passed over.
TrailStatus read_trail_status(const Kit& kit);

nlohmann::ordered_json trail_status_json(const TrailStatus& status);

}  // namespace couplet::net
