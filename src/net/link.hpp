#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "couplet/net/log.hpp"
#include "exchange.hpp"
#include "link_ledger.hpp"

namespace couplet::net {

/// What both ends of a link agree on, and how patient they are.
struct LinkSettings {
    std::string job;  ///< as text; the other end must say the same
    std::string version;
    wire::JobId id = {};  ///< of the job, in the route of every message
    std::chrono::milliseconds beat{1000};
    wire::Limits limits = {};
    Schema schema = {};  ///< of this peer's data; whoever has data of another kind is refused
    Unnamed unnamed = Unnamed::refuse;
};

/// What a link tells its owner, from its own threads.
struct LinkEvents {
    /// A connection stands; `is_new`: with a process that was not known before.
    std::function<void(wire::Incarnation process, bool is_new)> connected;
    std::function<void(wire::Incarnation process, wire::Message message)> received;
    /// Nobody can be talked to: why.
    std::function<void(const std::string& reason)> refused;
    /// A message went out or came in.
    std::function<void(bool sent, wire::Kind kind, const Passed& passed)> passed = {};
};

/// One neighbour, over connections that come and go. May be used by several threads.
class Link {
  public:
    using Clock = std::chrono::steady_clock;

    Link(std::string name, wire::Incarnation own, LinkSettings settings, LinkEvents events);

    /// Speaks over a connection until it ends: greets, then reads in this thread and writes in another. The end that
    /// opened it greets first. `cancel` must make reads and writes of the stream fail, from any thread; `greeted` is
    /// called when both ends have greeted: until then the caller must see to it that it does not take for ever. A
    /// connection that begins ends the one before. Returns true when the other end was greeted. Throws InputError for
    /// another job.
    bool speak(FrameStream& stream, bool opened_here, const std::function<void()>& cancel,
               const std::function<void()>& greeted);

    void post(std::shared_ptr<const wire::Message> message);
    /// Ends the connection, if there is one.
    void drop();
    /// Ends it, and every later one.
    void close();
    bool closed() const;
    void refuse(const std::string& reason) const { events_.refused(reason); }

    struct View {
        wire::Incarnation process = 0;  ///< 0: never heard
        bool connected = false;
        Clock::time_point changed = {};  ///< when it was connected or lost its connection
        Clock::time_point heard = {};    ///< last frame of the process
        bool has_bulletin = false;
        bool drained = true;
    };
    View view() const;
    const std::string& name() const noexcept { return name_; }

  private:
    wire::Message message(wire::Body body) const {
        return {{wire::protocol_version, settings_.id, 0, 0}, std::move(body)};
    }
    class Greeting;
    wire::Greeting receive_greeting(FrameStream& stream) const;
    /// Returns the number of the connection. Throws Disconnected.
    std::uint64_t greet(FrameStream& stream, bool opened_here, const std::function<void()>& cancel);
    std::uint64_t begin(const wire::Greeting& theirs, const std::function<void()>& cancel);
    void end(std::uint64_t generation);
    void read(FrameStream& stream, std::uint64_t generation);
    void write(FrameStream& stream, std::uint64_t generation);
    bool touch(std::uint64_t generation);
    bool take(std::uint64_t generation, const wire::Message& message, double bytes);

    std::string name_;
    wire::Incarnation own_;
    LinkSettings settings_;
    LinkEvents events_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    LinkLedger ledger_;
    std::uint64_t generation_ = 0;                        ///< counts connections
    std::function<void()> cancel_;                        ///< of the one that stands
    std::vector<const std::function<void()>*> greeting_;  ///< the same of those that have not come so far
    bool closing_ = false;
    Clock::time_point changed_at_ = Clock::now();
    Clock::time_point heard_at_ = {};
    int unconfirmed_ = 0;  ///< messages that arrived since the last beat
    double unconfirmed_bytes_ = 0;
    bool confirm_ = false;
};

}  // namespace couplet::net
