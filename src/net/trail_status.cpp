#include "couplet/net/trail_status.hpp"

#include <algorithm>
#include <fstream>
#include <functional>

#include "couplet/core/error.hpp"
#include "kit_lock.hpp"
#include "peer_network.hpp"

namespace couplet::net {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& line, const char* key) { return field<std::string>(line, key, ""); }

TrailStatus blank(const PeerNetwork& network) {
    TrailStatus status{.party = network.own_name(), .state = "none"};
    for (const Index k : network.neighbours()) status.neighbours.push_back({.name = network.name(k)});
    return status;
}

NeighbourStatus* neighbour(TrailStatus& status, const Json& line) {
    const std::string name = text_of(line, "party");
    const auto found = std::find_if(status.neighbours.begin(), status.neighbours.end(),
                                    [&](const NeighbourStatus& one) { return one.name == name; });
    return found == status.neighbours.end() ? nullptr : &*found;
}

void take_trail(TrailStatus& status, const Json& line, const PeerNetwork& network) {
    const std::string event = text_of(line, "event");
    const std::string time = text_of(line, "time");
    if (event == "job") {
        status = blank(network);
        status.job = text_of(line, "job");
        status.text = text_of(line, "text");
        status.version = text_of(line, "version");
        status.begun = time;
        status.state = "running";
        return;
    }
    if (event == "ended") {
        status.ended = time;
        status.state = text_of(line, "outcome");
        status.reason = text_of(line, "reason");
        status.members = field(line, "members", status.members);
        status.missing = field(line, "missing", status.missing);
        return;
    }
    NeighbourStatus* other = neighbour(status, line);
    if (other == nullptr) return;
    if (event == "joined") other->joined = true;
    if (event != "sent" && event != "received") return;
    const bool sent = event == "sent";
    (sent ? other->messages_sent : other->messages_received) += field<Index>(line, "messages", 0);
    (sent ? other->bytes_sent : other->bytes_received) += field<double>(line, "bytes", 0);
    other->last = time;
}

/// Epochs are in the log alone.
void take_log(TrailStatus& status, const Json& line) {
    // Times of both are written in one form, in UTC, so that they can be compared as text.
    if (text_of(line, "time") < status.begun) return;
    status.said = text_of(line, "text");
    if (text_of(line, "event") != "epoch") return;
    ++status.epochs;
    status.epoch = field<std::uint64_t>(line, "epoch", 0);
    if (status.state == "running") status.members = field(line, "members", status.members);
}

}  // namespace

TrailStatus read_trail_status(const Kit& kit) {
    if (kit.identity.role != Role::peer) {
        throw InputError({kit.folder.string(), "no kit of a peer", "one of a decentralized network", ""});
    }
    const PeerNetwork network(kit);
    TrailStatus status = blank(network);
    for_each_line(kit.file("audit.jsonl"), [&](const Json& line) { take_trail(status, line, network); });
    if (status.job.empty()) return status;
    for_each_line(kit.file("log.jsonl"), [&](const Json& line) { take_log(status, line); });
    // Ended by somebody else, without time to write it down.
    if (status.state == "running" && !is_in_use(kit)) status.state = "interrupted";
    if (status.state == "running" || status.state == "interrupted") {
        for (const PeerAddress& peer : kit.peers) {
            const bool in = std::find(status.members.begin(), status.members.end(), peer.name) != status.members.end();
            if (!in && status.epochs > 0) status.missing.push_back(peer.name);
        }
    }
    return status;
}

Json trail_status_json(const TrailStatus& status) {
    Json neighbours = Json::array();
    for (const NeighbourStatus& one : status.neighbours) {
        Json json{{"name", one.name},
                  {"joined", one.joined},
                  {"messages_sent", one.messages_sent},
                  {"messages_received", one.messages_received},
                  {"bytes_sent", one.bytes_sent},
                  {"bytes_received", one.bytes_received}};
        if (!one.last.empty()) json["last"] = one.last;
        neighbours.push_back(std::move(json));
    }
    Json json{{"party", status.party}, {"state", status.state}};
    if (status.job.empty()) {
        json["neighbours"] = std::move(neighbours);
        return json;
    }
    json["job"] = status.job;
    json["text"] = status.text;
    json["begun"] = status.begun;
    if (!status.ended.empty()) json["ended"] = status.ended;
    json["epoch"] = status.epoch;
    json["epochs"] = status.epochs;
    json["members"] = status.members;
    json["missing"] = status.missing;
    json["neighbours"] = std::move(neighbours);
    if (!status.reason.empty()) json["reason"] = status.reason;
    if (!status.said.empty()) json["said"] = status.said;
    json["version"] = status.version;
    return json;
}

}  // namespace couplet::net
