#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "couplet/net/certificates.hpp"

namespace couplet::net {

/// So many calls a party may open in one breath. A call holds a thread until its connection has time for it, and a
/// flood leaves it none: who opens too many is known by the last of them only, so that there must be threads for all of
/// these.
inline constexpr int calls_at_once = 24;
/// So many of its calls may hold a thread at the same time: one stream, another while it reconnects, a watch, and those
/// that are about to end. So many callers that are not let in may, all together, while they are told why.
inline constexpr int calls_held = 8;
/// The threads of a server that so many parties call. Enough for all that each may hold and open at once: what one
/// party does takes no thread from the others.
int server_threads(std::size_t parties);

/// Decides who may speak: a party of this federation, in its role, whose certificate is not revoked, and not too often.
class Doorman {
  public:
    using Clock = std::chrono::steady_clock;

    /// `revoked` is read again for every caller, so that a revocation needs no restart.
    Doorman(Identity self, std::filesystem::path revoked) : self_(std::move(self)), revoked_(std::move(revoked)) {}

    /// Throws InputError unless `caller` may come in as `role` at this time.
    void let_in(const CertificateInfo& caller, Role role) const;
    /// Throws InputError for a caller that opens calls faster than anybody needs. Each `caller` has a measure of its
    /// own.
    void limit_rate(const std::string& caller, Clock::time_point now);
    /// A thread that somebody holds, given back when this goes; false: there was none left for it.
    class Place {
      public:
        Place() = default;
        Place(Doorman& doorman, std::string key) : doorman_(&doorman), key_(std::move(key)) {}
        ~Place();
        Place(Place&& other) noexcept : doorman_(std::exchange(other.doorman_, nullptr)), key_(std::move(other.key_)) {}
        Place& operator=(Place&& other) noexcept {
            std::swap(doorman_, other.doorman_);
            std::swap(key_, other.key_);
            return *this;
        }
        explicit operator bool() const noexcept { return doorman_ != nullptr; }

      private:
        Doorman* doorman_ = nullptr;
        std::string key_;
    };
    /// One of the `calls_held` places of that caller. To be taken before anything that the caller can make wait.
    Place take_place(const std::string& caller);
    /// Whether that certificate may connect now: a handshake costs more than a call, and counts by the same measure.
    bool may_connect(const std::string& serial, Clock::time_point now);
    /// That certificate connects no more for a while, which is returned: longer every time, short again after a quiet
    /// hour. What it did costs others while it is heard of at all.
    std::chrono::seconds bar(const std::string& serial, Clock::time_point now);

  private:
    struct Bucket {
        double tokens = 0;
        Clock::time_point filled;
    };
    struct Bar {
        Clock::time_point until;
        std::chrono::seconds length{0};
    };
    bool take(const std::string& key, Clock::time_point now);

    Identity self_;
    std::filesystem::path revoked_;
    std::mutex mutex_;
    std::map<std::string, Bucket> buckets_;
    std::map<std::string, Bar> bars_;
    std::map<std::string, int> held_;
};

}  // namespace couplet::net
