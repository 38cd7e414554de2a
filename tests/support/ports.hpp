#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

/// Ports for daemons of tests, below those that the system hands out itself. Other tests, and other checkouts' tests,
/// run at the same time: a process claims ports by the hundred. tests/chaos/proxy.py does the same for Python.
namespace couplet::support {

inline bool can_bind(int port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool good = ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(listener);
    return good;
}

class Ports {
  public:
    static constexpr int hundreds = 220, first_hundred = 100;  ///< 10000 to 31999

    /// A port, and the one after it, that no other process of tests is given while this one lives.
    int next() {
        const std::lock_guard lock(mutex_);
        for (int tried = 0; tried < 100 * hundreds; ++tried) {
            if (at_ == static_cast<int>(mine_.size()) * 50 && !claim_one())
                at_ = 0;  // all are taken: its own once more
            const int port = 100 * mine_.at(static_cast<std::size_t>(at_ / 50)) + 2 * (at_ % 50);
            ++at_;
            if (can_bind(port) && can_bind(port + 1)) return port;
        }
        throw std::runtime_error("no free port");
    }

    /// Takes a hundred by a name that the kernel gives to one process at a time, and takes back however that ends.
    static bool claim(int hundred) {
        const int held = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string name = "couplet-test-ports-" + std::to_string(hundred);
        std::copy(name.begin(), name.end(), address.sun_path + 1);
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        if (::bind(held, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
        ::close(held);
        return false;
    }

  private:
    bool claim_one() {
        // Not where the process before began: what it left behind may still call there.
        for (int k = 0; k < hundreds; ++k) {
            const int hundred = first_hundred + (::getpid() + k) % hundreds;
            if (!claim(hundred)) continue;
            mine_.push_back(hundred);
            return true;
        }
        return false;
    }

    std::mutex mutex_;
    std::vector<int> mine_;
    int at_ = 0;
};

/// A port for a coordinator, the next one for its page.
inline int free_port() {
    static Ports ports;
    return ports.next();
}

}  // namespace couplet::support
