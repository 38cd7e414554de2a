#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "audit_trail.hpp"
#include "couplet/net/peer.hpp"
#include "exchange.hpp"
#include "peer_network.hpp"

namespace couplet::net {

/// What a peer writes down of a job for whoever asks later: what it is, who is at the other end of its links, what
/// passes over them, how it ends. Links may use it from threads of their own. What cannot be written down throws
/// RunError.
class PeerTrail {
  public:
    /// The network must outlive it; the trail is in the peer's kit.
    explicit PeerTrail(const PeerNetwork& network, Spelling spelling = {});

    /// The job that all lines from here on are about.
    void set_job(const wire::JobId& id);
    void begin(const std::string& text, const wire::JobSpec& spec);
    /// Who is at the other end of a connection that begins.
    void recognise(const std::string& neighbour, const std::string& serial, const std::string& address);
    /// Counts a message until it is written down with others of its kind.
    void count(Index neighbour, bool sent, wire::Kind kind, const Passed& passed);
    /// Whether it is time to write down what was counted.
    bool is_due() const;
    void write_traffic(std::uint64_t epoch);
    void end(const PeerResult& result, std::uint64_t epoch);
    void fail(const std::string& reason, std::uint64_t epoch);

  private:
    using Clock = std::chrono::steady_clock;
    /// What passed over a link since it was written down last, by kind.
    struct Traffic {
        Index messages = 0;
        double bytes = 0;
        Sha256 hashes = {};  ///< of the messages, in order
    };

    const PeerNetwork& network_;
    AuditTrail audit_;
    std::string job_ = wire::to_hex(wire::JobId{});
    Clock::time_point written_ = Clock::now();
    std::mutex mutex_;
    std::map<std::tuple<Index, bool, wire::Kind>, Traffic> traffic_;
};

}  // namespace couplet::net
