#pragma once

#include <string>

#include "audit_trail.hpp"
#include "couplet/net/client.hpp"
#include "exchange.hpp"
#include "message_count.hpp"

namespace couplet::net {

/// What a client writes down of its jobs for whoever asks later: what they are, what passes between it and the
/// coordinator, how they end. What cannot be written down throws RunError.
class ClientTrail {
  public:
    /// The trail is in the client's kit.
    explicit ClientTrail(const Kit& kit, Spelling spelling = {});

    /// `serial` and `address` are the coordinator's.
    void begin(const wire::Message& welcome, const std::string& serial, const std::string& address);
    void sent(const wire::Message& message, const Passed& passed) { write(sent_event, message, passed); }
    void received(const wire::Message& message, const Passed& passed) { write(received_event, message, passed); }
    /// Books in the result what has passed: all bytes of a job of secure sums, and of any job those that no round has.
    void count(ClientResult& result) const;
    void end(const ClientResult& result);
    void fail(const std::string& job, const std::string& reason);

  private:
    void write(const char* event, const wire::Message& message, const Passed& passed);

    std::string self_;
    AuditTrail audit_;
    MessageCount counted_;                    ///< of the job at hand, from the welcome on
    std::map<wire::Kind, double> greetings_;  ///< sent before a job is known
};

}  // namespace couplet::net
