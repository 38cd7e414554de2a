#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "audit_trail.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/net/log.hpp"
#include "room.hpp"

namespace couplet::net {

/// The gRPC side of a coordinator: lets clients in by their certificates and carries messages between them and the
/// room.
class Server {
  public:
    /// Without credentials there is no TLS and callers are who they say; loopback only. Throws RunError when the
    /// address cannot be had.
    /// `on_deaf` is called, from another thread, when the listener accepts no more.
    Server(const Kit& kit, const std::optional<Credentials>& credentials, Room& room, AuditTrail& audit, Log& log,
           std::function<void(const std::string& reason)> on_deaf = {});
    /// Ends all streams and waits for them; the room must have been told to stop or have nothing to say any more.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Tells clients that compute why the room has failed: when they are done nobody is there to tell them. Whoever
    /// waits for the room hears it there.
    void tell_failure();

    /// What is wrong with the listener; empty: nothing.
    std::string trouble() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace couplet::net
