#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "couplet/wire/message.hpp"

namespace couplet::net {

/// The messages of one link, numbered as they are posted, so that a broken connection neither loses one nor brings one
/// twice: each end tells how many have arrived, and what has not is sent again. They are for one process at the other
/// end; another one starts from nothing. Owns no connection, thread or clock.
class LinkLedger {
  public:
    explicit LinkLedger(wire::Incarnation own) : own_(own) {}

    /// What to say first on a connection.
    wire::Greeting greeting(const std::string& job, const std::string& version) const {
        return {own_, job, version, process_, received_, {}};
    }
    /// A new connection. True when another process is at the other end: what was posted for the one before is dropped.
    /// Throws InputError, and changes nothing, for one that claims what was never sent.
    bool begin(const wire::Greeting& theirs);
    /// 0 before the first greeting.
    wire::Incarnation process() const noexcept { return process_; }

    void post(std::shared_ptr<const wire::Message> message) { waiting_.push_back(std::move(message)); }
    /// The next message for this connection; null when there is none.
    std::shared_ptr<const wire::Message> next();
    bool has_next() const noexcept { return sent_ < waiting_.size(); }
    /// The other end has so many. Throws InputError when they were never sent.
    void acknowledge(std::uint64_t received);
    /// One has arrived.
    void arrived() { ++received_; }
    std::uint64_t received() const noexcept { return received_; }
    /// Whether the other end has everything.
    bool drained() const noexcept { return waiting_.empty(); }
    /// Whether a bulletin is on its way: the next one can wait, and tell more.
    bool has_bulletin() const;

  private:
    wire::Incarnation own_;
    wire::Incarnation process_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t received_ = 0;
    std::deque<std::shared_ptr<const wire::Message>> waiting_;  ///< not acknowledged
    std::size_t sent_ = 0;                                      ///< of those, over this connection
};

}  // namespace couplet::net
