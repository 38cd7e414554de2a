#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "link.hpp"

namespace couplet::net {

/// The same as LinkEvents, of any neighbour.
struct NeighbourEvents {
    std::function<void(Index neighbour, wire::Incarnation process, bool is_new)> connected;
    std::function<void(Index neighbour, wire::Incarnation process, wire::Message message)> received;
    std::function<void(Index neighbour, const std::string& reason)> refused;
    /// Who is at the other end of a connection that begins.
    std::function<void(const std::string& name, const std::string& serial, const std::string& address)> recognised = {};
    std::function<void(Index neighbour, bool sent, wire::Kind kind, const Passed& passed)> passed = {};
    /// The certificates that count no more, whenever the list changes.
    std::function<void(const std::set<std::string>& serials)> revoked = {};
    /// The listener accepts no more; see Gate.
    std::function<void(const std::string& reason)> deaf = {};
};

/// A peer's links to its neighbours over gRPC with mutual TLS. Of two neighbours the one that comes first among the
/// peers opens the connection, again and again; each looks at the other's certificate and speaks to that peer alone.
class PeerLinks {
  public:
    /// Throws RunError when the kit's address cannot be had.
    PeerLinks(const Kit& kit, const Credentials& credentials, wire::Incarnation own, const LinkSettings& settings,
              NeighbourEvents events, Log& log);
    /// Ends all connections and waits for them.
    ~PeerLinks();
    PeerLinks(const PeerLinks&) = delete;
    PeerLinks& operator=(const PeerLinks&) = delete;

    Link& link(Index neighbour);
    /// Ends all connections for good, without waiting for them.
    void close();

  private:
    void drop(const std::set<std::string>& serials);
    void drop_all();
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace couplet::net
