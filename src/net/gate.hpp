#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "couplet/net/log.hpp"

namespace couplet::net {

struct GateOptions {
    std::string listen = {};             ///< ADDRESS:PORT
    std::size_t parties = 0;             ///< that may connect
    std::filesystem::path revoked = {};  ///< serial numbers that are let in no more, watched
    /// The certificates on the list, whenever it changes. Connections that parties opened here are ended before.
    std::function<void(const std::set<std::string>& serials)> on_revoked = {};
    /// The list cannot be read any more, and nobody knows who is on it: connections that this daemon opened should end,
    /// as those that parties opened here have. Nothing is called when it can be read again.
    std::function<void()> on_unreadable = {};
    /// The listener has stopped accepting and will not come back: the daemon should end, so that it is started again.
    std::function<void(const std::string& reason)> on_deaf = {};
    std::chrono::milliseconds pulse{2000};       ///< between two looks at the listener
    std::chrono::milliseconds patience{10'000};  ///< with a connection to itself, twice
};

/// Where a daemon's connections come in. Accepts them, so many as ConnectionBook allows, and hands each over once
/// something was sent over it; who connects and says nothing costs a descriptor for a moment and nothing else. Ends
/// those of certificates that are revoked, and those that send what nobody asked for. While the list of the revoked
/// cannot be read, or others may change it, nobody new is handed over; after a second all connections are ended, until
/// it can be read again. Connects to itself now and then: a listener that accepts no more is noticed.
class Gate {
  public:
    /// Raises the process's limit of descriptors as far as it may, and listens. Throws RunError when the address cannot
    /// be had, InputError when the list of the revoked cannot be read or anybody may change it.
    Gate(GateOptions options, Log& log);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// From here on connections are accepted; `hand_over` owns the descriptor that it is given.
    void open(std::function<void(int descriptor)> hand_over);
    /// Accepts no more; returns when `hand_over` is not running and will not run.
    void close();
    /// A call has come over the connection that gRPC calls `peer`, and its certificate shows whose it is.
    void admit(const std::string& peer, const std::string& party, const std::string& serial);
    /// Ends the connection that gRPC calls `peer`.
    void dismiss(const std::string& peer);
    /// Ends all connections of which a call has shown that certificate.
    void dismiss_all(const std::string& serial);
    /// Over the connection from that HOST:PORT something came that was of use: so many bytes of a message. Whoever
    /// sends far more than is of use is ended: what HTTP/2 has to read of it costs memory and threads that the others
    /// need.
    void credit(const std::string& address, std::size_t bytes);
    /// What is wrong with the listener, or with the list of the revoked; empty: nothing.
    std::string trouble() const;

  private:
    struct State;
    std::shared_ptr<State> state_;  ///< the threads have it too: one that hangs is left behind
};

/// gRPC's name of an address as HOST:PORT: "ipv6:%5B::1%5D:7" is "[::1]:7".
std::string plain_address(const std::string& peer);

}  // namespace couplet::net
