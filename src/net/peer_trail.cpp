#include "peer_trail.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/net/doubts.hpp"
#include "job_file.hpp"

namespace couplet::net {
namespace {

// What passes over a link is written down together.
constexpr std::chrono::milliseconds between_traffic{1000};

}  // namespace

PeerTrail::PeerTrail(const PeerNetwork& network, Spelling spelling)
    : network_(network), audit_(network.kit().file("audit.jsonl"), std::move(spelling)) {}

void PeerTrail::set_job(const wire::JobId& id) { job_ = wire::to_hex(id); }

void PeerTrail::begin(const std::string& text, const wire::JobSpec& spec) {
    audit_.write("job", {{"job", job_},
                         {"role", "peer"},
                         {"party", network_.own_name()},
                         {"version", version()},
                         {"graph", network_.kit().graph},
                         {"text", text},
                         {"spec", spec_json(spec)}});
}

void PeerTrail::recognise(const std::string& neighbour, const std::string& serial, const std::string& address) {
    audit_.write_once(neighbour, "joined",
                      {{"job", job_}, {"party", neighbour}, {"serial", serial}, {"address", address}});
}

void PeerTrail::count(Index neighbour, bool sent, wire::Kind kind, const Passed& passed) {
    const std::lock_guard lock(mutex_);
    Traffic& mine = traffic_[{neighbour, sent, kind}];
    ++mine.messages;
    mine.bytes += passed.bytes;
    mine.hashes.add(passed.hash);
}

bool PeerTrail::is_due() const { return Clock::now() - written_ >= between_traffic; }

void PeerTrail::write_traffic(std::uint64_t epoch) {
    decltype(traffic_) all;
    {
        const std::lock_guard lock(mutex_);
        all = std::exchange(traffic_, {});
    }
    written_ = Clock::now();
    for (auto& [key, passed] : all) {
        const auto& [neighbour, sent, kind] = key;
        audit_.write(sent ? "sent" : "received", {{"job", job_},
                                                  {"party", network_.name(neighbour)},
                                                  {"kind", wire::to_string(kind)},
                                                  {"epoch", epoch},
                                                  {"messages", passed.messages},
                                                  {"bytes", passed.bytes},
                                                  {"hash", passed.hashes.finish()}});
    }
}

void PeerTrail::end(const PeerResult& result, std::uint64_t epoch) {
    write_traffic(epoch);
    AuditTrail::Fields fields{{"job", job_},
                              {"outcome", "done"},
                              {"result", result.job},
                              {"members", result.members},
                              {"missing", result.missing},
                              {"features", result_hash(result.features)},
                              {"personal", result_hash(result.personal)}};
    if (result.rel_error_bound) fields["rel_error_bound"] = *result.rel_error_bound;
    for (const Doubt& doubt : result.doubts) {
        fields["doubts"].push_back({{"client", doubt.client}, {"reason", doubt.reason}});
    }
    audit_.write("ended", fields);
}

void PeerTrail::fail(const std::string& reason, std::uint64_t epoch) {
    write_traffic(epoch);
    audit_.write("ended", {{"job", job_}, {"outcome", "failed"}, {"reason", reason}});
}

}  // namespace couplet::net
