#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace couplet::net {

/// Which connections a daemon may have at once: so many altogether, so many of strangers, so many of each party.
struct ConnectionLimits {
    std::size_t total = 0;
    std::size_t strangers = 0;
    std::size_t per_party = 8;  ///< one for the job, one while it reconnects, some that ask for the status
    std::chrono::milliseconds handshake{10'000};  ///< a stranger has so long to say who it is
    std::uint64_t stranger_bytes = 64 << 10;      ///< and so much to say it in
    /// What a party may send beyond what has come of it. gRPC holds a message of a megabyte, and half of one that is
    /// not read yet, of each of two streams.
    std::uint64_t idle_bytes = 4 << 20;
    std::uint64_t idle_bytes_per_second = 1 << 10;  ///< and more with time: pings, windows
};

/// The limits for so many parties with so many descriptors. What is not for connections is for files: one for each
/// party that uploads, and `reserved_descriptors`.
inline constexpr std::size_t reserved_descriptors = 96;
ConnectionLimits connection_limits(std::size_t parties, std::size_t descriptors);

/// The open connections of a daemon. One is a stranger's until a call over it has shown whose it is: strangers share a
/// part of the room, so that they never take that of the parties. Says who has to go; owns no socket, thread or clock.
class ConnectionBook {
  public:
    using Clock = std::chrono::steady_clock;
    using Id = std::uint64_t;

    explicit ConnectionBook(ConnectionLimits limits) : limits_(limits) {}

    /// `address` is HOST:PORT.
    Id add(const std::string& address, Clock::time_point now);
    /// It has sent something.
    void spoke(Id id);
    /// A call over the connection from that address has shown whose it is. False when there is none.
    bool admit(const std::string& address, const std::string& party, const std::string& serial);
    void remove(Id id);
    /// So many bytes have come over the connection so far, those of TLS and HTTP/2 included.
    void received(Id id, std::uint64_t bytes);
    /// So many of them were of use: a message, a call that was answered.
    void credit(const std::string& address, std::uint64_t bytes);

    /// Connections over which more came than can be of use: floods of frames that say nothing, headers without end.
    struct Noise {
        Id id;
        std::string party;  ///< empty: a stranger's
        std::uint64_t bytes;
    };
    std::vector<Noise> noise(Clock::time_point now) const;
    /// Who has to go now: strangers whose time is over; of a party that has too many, the oldest; and where strangers
    /// are too many, those of the host that has most of them for its share. A host, or a network of IPv6, has one share
    /// and another for every party that came from it last, so that a flood does not keep out the many behind one
    /// address that have been here before. Of equals those who have spoken or those who have not, whichever are more,
    /// the oldest first: a newcomer has as long to show its certificate as half the strangers' places take to be filled
    /// again.
    std::vector<Id> excess(Clock::time_point now) const;
    /// Whoever goes first when there is no room at all; nothing when nobody is there but parties.
    std::optional<Id> weakest() const;
    /// The connection from that address.
    std::optional<Id> find(const std::string& address) const;
    std::vector<Id> of_serials(const std::set<std::string>& serials) const;
    std::size_t size() const noexcept { return entries_.size(); }
    std::size_t strangers() const;

  private:
    struct Entry {
        std::string address;
        std::string host;
        Clock::time_point since;
        bool silent = true;
        std::string party = {};
        std::string serial = {};
        std::uint64_t received = 0;
        std::uint64_t credit = 0;
    };
    std::set<std::string> fullest_hosts(const std::set<Id>& gone) const;
    std::optional<Id> weakest_without(const std::set<Id>& gone) const;

    ConnectionLimits limits_;
    std::map<Id, Entry> entries_;              ///< ids grow, so the first of several is the oldest
    std::map<std::string, std::string> home_;  ///< of each party the host that it came from last
    Id next_ = 1;
};

}  // namespace couplet::net
