#pragma once

#include <string>

#include "audit_trail.hpp"
#include "couplet/net/client.hpp"
#include "exchange.hpp"

namespace couplet::net {

/// What a client writes down of its jobs for whoever asks later: what they are, what passes between it and the
/// coordinator, how they end. What cannot be written down throws RunError.
class ClientTrail {
  public:
    /// The trail is in the client's kit.
    explicit ClientTrail(const Kit& kit, Spelling spelling = {});

    /// `serial` and `address` are the coordinator's.
    void begin(const wire::Message& welcome, const std::string& serial, const std::string& address);
    void sent(const wire::Message& message, const Passed& passed) { write("sent", message, passed); }
    void received(const wire::Message& message, const Passed& passed) { write("received", message, passed); }
    void end(const ClientResult& result);
    void fail(const std::string& job, const std::string& reason);

  private:
    void write(const char* event, const wire::Message& message, const Passed& passed);

    std::string self_;
    AuditTrail audit_;
};

}  // namespace couplet::net
