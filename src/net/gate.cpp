#include "gate.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "connection_book.hpp"
#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"
#include "crash_point.hpp"

namespace couplet::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds tick{100};
constexpr milliseconds list_patience{1000};  ///< with a list that is being written
constexpr int backlog = 1024;
constexpr int most_at_once = 64;  ///< accepted before anything else is looked at
constexpr std::size_t enough_descriptors = 1 << 20;
constexpr std::uint64_t call_bytes = 4096;  ///< of headers, more than any call has

/// What a frame takes on the line: HTTP/2 and TLS add to it, to a small one more than it is itself.
std::uint64_t credit_for(std::size_t bytes) { return bytes + bytes / 8 + 512; }

std::string why() { return std::strerror(errno); }

/// A descriptor that is closed with its owner.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { reset(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    int get() const noexcept { return number_; }
    int release() noexcept { return std::exchange(number_, -1); }
    void reset(int number = -1) {
        if (number_ >= 0) ::close(number_);
        number_ = number;
    }

  private:
    int number_;
};

/// As many descriptors as the system allows this process; returns how many they are.
std::size_t raise_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, enough_descriptors);
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        ::getrlimit(RLIMIT_NOFILE, &limit);
    }
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, enough_descriptors));
}

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    int port() const {
        return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                                   : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
    }
};

SocketAddress wildcard(int port) {
    SocketAddress address;
    auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_any;
    six->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof(sockaddr_in6);
    return address;
}

std::optional<SocketAddress> resolve(const Address& where) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found) != 0) return std::nullopt;
    SocketAddress address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    ::freeaddrinfo(found);
    return address;
}

/// -1 when it cannot be had; errno says why.
int try_listen(const SocketAddress& address) {
    Descriptor listener(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener.get() < 0) return -1;
    const int yes = 1;
    const int no = 0;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    // Accepted connections inherit it: small messages must not wait for each other.
    ::setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (address.storage.ss_family == AF_INET6) {
        ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    }
    if (::bind(listener.get(), address.get(), address.size) != 0 || ::listen(listener.get(), backlog) != 0) return -1;
    return listener.release();
}

/// On every address where the kit says 0.0.0.0, those of IPv6 included where the system has it.
Descriptor listen_at(const std::string& text) {
    const Address where = parse_address(text, "listen");
    int number = -1;
    if (where.host == "0.0.0.0" || where.host == "::") number = try_listen(wildcard(where.port));
    if (number < 0) {
        const auto address = resolve(where);
        errno = EADDRNOTAVAIL;
        if (address) number = try_listen(*address);
    }
    if (number >= 0) return Descriptor(number);
    throw RunError({text, fmt::format("the address cannot be used: {}", why()), "a free port of this machine",
                    "Another daemon may be running; change listen in kit.toml otherwise."});
}

std::string address_text(const SocketAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.storage.ss_family != AF_INET6) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(&address.storage);
        ::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
        return fmt::format("{}:{}", text.data(), address.port());
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        ::inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text.data(), text.size());
        return fmt::format("{}:{}", text.data(), address.port());
    }
    ::inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), address.port());
}

/// Where the daemon reaches its own listener.
SocketAddress own_address(int listener) {
    SocketAddress address;
    address.size = sizeof(address.storage);
    ::getsockname(listener, address.get(), &address.size);
    if (address.storage.ss_family == AF_INET6) {
        auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
        if (!IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)) return address;
        sockaddr_in four{};
        four.sin_family = AF_INET;
        four.sin_port = six->sin6_port;
        four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        std::memcpy(&address.storage, &four, sizeof(four));
        address.size = sizeof(four);
        return address;
    }
    auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
    if (four->sin_addr.s_addr == htonl(INADDR_ANY)) four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// Which socket a descriptor is: numbers of descriptors are used again, those of sockets are not while they live.
ino_t socket_of(int descriptor) {
    struct stat about {};
    if (::fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) return 0;
    return about.st_ino;
}

}  // namespace

std::string plain_address(const std::string& peer) {
    const std::size_t colon = peer.find(':');
    std::string text;
    for (std::size_t i = colon == std::string::npos ? 0 : colon + 1; i < peer.size(); ++i) {
        if (peer[i] == '%' && i + 2 < peer.size()) {
            const std::string digits = peer.substr(i + 1, 2);
            if (digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
                text += static_cast<char>(std::stoi(digits, nullptr, 16));
                i += 2;
                continue;
            }
        }
        text += peer[i];
    }
    return text;
}

struct Gate::State {
    State(GateOptions o, Log& l)
        : options(std::move(o)),
          log(l),
          descriptors(raise_limit()),
          listener(listen_at(options.listen)),
          spare(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
          wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          book(connection_limits(options.parties, descriptors)) {
        load_revoked(options.revoked);  // later a list that cannot be read ends what is open
        const ConnectionLimits limits = connection_limits(options.parties, descriptors);
        const std::size_t comfortable = 2 * options.parties + reserved_descriptors + 2 * limits.strangers;
        if (descriptors >= comfortable) return;
        log.warn("descriptors", fmt::format("{} descriptors for {} parties; {} connections at once, {} of them of "
                                            "strangers. Raise the limit (LimitNOFILE, ulimit -n) to {}",
                                            descriptors, options.parties, limits.total, limits.strangers, comfortable));
    }

    struct Socket {
        int descriptor = -1;
        ino_t socket = 0;
        bool handed_over = false;
    };

    GateOptions options;
    Log& log;
    std::size_t descriptors;
    Descriptor listener;
    Descriptor spare;  ///< given up to turn somebody away when there is no other
    Descriptor wake;
    std::function<void(int)> hand_over = {};
    std::atomic<bool> ending{false};

    std::mutex mutex = {};  ///< of what follows
    std::condition_variable changed = {};
    ConnectionBook book;
    std::map<ConnectionBook::Id, Socket> sockets = {};
    std::set<int> probes = {};  ///< local ports of connections to itself
    std::set<int> heard = {};   ///< those that were accepted
    std::string trouble = {};
    bool left = false;                   ///< the accepting thread has ended
    std::set<std::string> revoked = {};  ///< as the list says
    std::string unreadable = {};         ///< why the list is not known, as everybody's connections have ended

    std::thread acceptor = {};
    std::thread prober = {};

    // Of the accepting thread alone.
    std::optional<Clock::time_point> unread_since = {};  ///< the list could not be read

    // ---- accepting

    void accept_all() {
        for (int i = 0; i < most_at_once; ++i) {
            SocketAddress from;
            from.size = sizeof(from.storage);
            const int number = ::accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (number < 0) {
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) make_room();
                return;
            }
            crash_point("gate-accepted");
            take(number, from);
        }
    }

    void take(int number, const SocketAddress& from) {
        const std::lock_guard lock(mutex);
        if (probes.contains(from.port())) {
            heard.insert(from.port());
            changed.notify_all();
            ::close(number);
            return;
        }
        sockets[book.add(address_text(from), Clock::now())] = {number, socket_of(number), false};
        end_excess();
    }

    /// No descriptor is left, though that should not be: whoever waits longest without a name goes, or the caller.
    void make_room() {
        log.paced("descriptors", "descriptors", fmt::format("a connection was turned away: {}", why()));
        const std::lock_guard lock(mutex);
        if (const auto id = book.weakest()) {
            end(*id);
            return;
        }
        spare.reset();
        const int number = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
        if (number >= 0) ::close(number);
        spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }

    // ---- what is open

    void end(ConnectionBook::Id id) {
        const auto found = sockets.find(id);
        if (found == sockets.end()) return;
        const Socket socket = found->second;
        if (!socket.handed_over) {
            ::close(socket.descriptor);
        } else if (socket_of(socket.descriptor) == socket.socket) {
            // Its owner sees the end and closes it.
            ::shutdown(socket.descriptor, SHUT_RDWR);
        }
        sockets.erase(found);
        book.remove(id);
    }
    void end_excess() {
        const auto ids = book.excess(Clock::now());
        if (ids.empty()) return;
        for (const auto id : ids) end(id);
        log.paced("strangers", "turned-away",
                  fmt::format("{} connections ended: too many, or too long without a name", ids.size()));
    }
    /// Ends connections over which more comes than is of use.
    void end_noise() {
        for (const auto& [id, socket] : sockets) {
            if (!socket.handed_over) continue;
            tcp_info about{};
            socklen_t size = sizeof(about);
            if (::getsockopt(socket.descriptor, IPPROTO_TCP, TCP_INFO, &about, &size) != 0) continue;
            book.received(id, about.tcpi_bytes_received);
        }
        for (const auto& noise : book.noise(Clock::now())) {
            end(noise.id);
            log.paced("noise " + noise.party, "noise",
                      fmt::format("a connection of {} ended: {} bytes that say nothing",
                                  noise.party.empty() ? "a stranger" : noise.party, noise.bytes),
                      {{"client", noise.party}});
        }
    }
    /// Forgets connections that their owner has closed.
    void sweep() {
        std::vector<ConnectionBook::Id> closed;
        for (const auto& [id, socket] : sockets) {
            if (socket.handed_over && socket_of(socket.descriptor) != socket.socket) closed.push_back(id);
        }
        for (const auto id : closed) {
            sockets.erase(id);
            book.remove(id);
        }
    }

    void pass_on(ConnectionBook::Id id) {
        int number = -1;
        {
            const std::lock_guard lock(mutex);
            const auto found = sockets.find(id);
            if (found == sockets.end()) return;
            char first = 0;
            const ssize_t count = ::recv(found->second.descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT);
            if (count <= 0) {
                // One that hangs up is no error, and errno is that of another call.
                if (count == 0 || (errno != EAGAIN && errno != EINTR)) end(id);
                return;
            }
            found->second.handed_over = true;
            number = found->second.descriptor;
            book.spoke(id);
        }
        hand_over(number);
    }

    /// Read as a whole every time: neither its size nor its times show who may change it.
    void watch_list() {
        std::set<std::string> now;
        try {
            const auto serials = load_revoked(options.revoked);
            now.insert(serials.begin(), serials.end());
        } catch (const std::exception& error) {
            miss_list(error.what());
            return;
        }
        unread_since.reset();
        std::size_t ended = 0;
        bool changed_list = false;
        bool was_unreadable = false;
        {
            const std::lock_guard lock(mutex);
            was_unreadable = !std::exchange(unreadable, "").empty();
            changed_list = now != revoked;
            revoked = now;
            for (const auto id : book.of_serials(revoked)) {
                end(id);
                ++ended;
            }
        }
        if (was_unreadable) {
            log.paced("list", "revoked", "the list of the revoked can be read again", {}, false);
        }
        if (ended > 0) {
            log.warn("revoked", fmt::format("{} connections ended: their certificates were revoked", ended));
        }
        if (changed_list && options.on_revoked) options.on_revoked(now);
    }
    /// Somebody may be writing it. One that stays as it is may name whoever is connected: nobody is, then.
    void miss_list(const std::string& why) {
        if (!unread_since) unread_since = Clock::now();
        if (Clock::now() - *unread_since < list_patience) return;
        bool first = false;
        {
            const std::lock_guard lock(mutex);
            first = unreadable.empty();
            unreadable = fmt::format("nobody is let in: {}", why);
            while (!sockets.empty()) end(sockets.begin()->first);
        }
        if (first) log.paced("list", "revoked", fmt::format("all connections ended, and {}", unreadable));
        if (options.on_unreadable) options.on_unreadable();
    }

    void accept_loop() {
        auto next_tick = Clock::now();
        std::vector<pollfd> entries;
        std::vector<ConnectionBook::Id> silent;
        while (!ending) {
            entries = {{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}};
            silent.clear();
            {
                const std::lock_guard lock(mutex);
                for (const auto& [id, socket] : sockets) {
                    if (socket.handed_over || unread_since) continue;
                    entries.push_back({socket.descriptor, POLLIN, 0});
                    silent.push_back(id);
                }
            }
            ::poll(entries.data(), entries.size(), static_cast<int>(tick.count()));
            if (ending) break;
            for (std::size_t i = 0; i < silent.size(); ++i) {
                if (entries[i + 2].revents != 0) pass_on(silent[i]);
            }
            if ((entries[0].revents & POLLIN) != 0) accept_all();
            if (Clock::now() < next_tick) continue;
            next_tick = Clock::now() + tick;
            watch_list();
            const std::lock_guard lock(mutex);
            sweep();
            end_noise();
            end_excess();
        }
        const std::lock_guard lock(mutex);
        for (const auto& [id, socket] : sockets) {
            if (!socket.handed_over) ::close(socket.descriptor);
        }
        sockets.clear();
        left = true;
        changed.notify_all();
    }

    // ---- looking after the listener

    /// Empty when a connection to itself was accepted in time.
    std::string probe() {
        const SocketAddress target = own_address(listener.get());
        const Descriptor caller(::socket(target.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        SocketAddress from = target;
        if (from.storage.ss_family == AF_INET6) {
            reinterpret_cast<sockaddr_in6*>(&from.storage)->sin6_port = 0;
        } else {
            reinterpret_cast<sockaddr_in*>(&from.storage)->sin_port = 0;
        }
        if (caller.get() < 0 || ::bind(caller.get(), from.get(), from.size) != 0 ||
            ::getsockname(caller.get(), from.get(), &from.size) != 0) {
            return fmt::format("no connection to itself can be made: {}", why());
        }
        const int port = from.port();
        std::unique_lock lock(mutex);
        probes.insert(port);
        lock.unlock();
        const bool began = ::connect(caller.get(), target.get(), target.size) == 0 || errno == EINPROGRESS;
        const std::string refused = began ? "" : fmt::format("a connection to itself is refused: {}", why());
        lock.lock();
        const bool accepted =
            began && changed.wait_for(lock, options.patience, [&] { return ending || heard.contains(port); });
        probes.erase(port);
        heard.erase(port);
        if (accepted) return "";
        return began ? fmt::format("no connection was accepted for {} s",
                                   static_cast<double>(options.patience.count()) / 1000)
                     : refused;
    }

    void probe_loop() {
        int failed = 0;
        while (!ending) {
            const std::string found = probe();
            std::unique_lock lock(mutex);
            if (ending) return;
            trouble = found.empty() ? "" : fmt::format("the listener at {} is deaf: {}", options.listen, found);
            failed = found.empty() ? 0 : failed + 1;
            if (failed == 1) log.warn("deaf", trouble);
            if (failed == 2 && options.on_deaf) {
                const std::string reason = trouble;
                lock.unlock();
                options.on_deaf(reason);
                lock.lock();
            }
            changed.wait_for(lock, options.pulse, [&] { return ending.load(); });
        }
    }
};

Gate::Gate(GateOptions options, Log& log) : state_(std::make_shared<State>(std::move(options), log)) {}

Gate::~Gate() { close(); }

void Gate::open(std::function<void(int)> hand_over) {
    state_->hand_over = std::move(hand_over);
    state_->acceptor = std::thread([state = state_] { state->accept_loop(); });
    state_->prober = std::thread([state = state_] { state->probe_loop(); });
}

void Gate::close() {
    State& state = *state_;
    if (!state.acceptor.joinable()) return;
    bool left = false;
    {
        std::unique_lock lock(state.mutex);
        state.ending = true;
        state.changed.notify_all();
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(state.wake.get(), &one, sizeof(one));
        // One that hangs would keep the daemon from ending, which is the only remedy.
        left = state.changed.wait_for(lock, std::chrono::seconds(state.trouble.empty() ? 60 : 2),
                                      [&] { return state.left; });
    }
    state.prober.join();
    if (left) {
        state.acceptor.join();
    } else {
        state.acceptor.detach();
    }
    ::shutdown(state.listener.get(), SHUT_RDWR);
    state.listener.reset();
}

void Gate::admit(const std::string& peer, const std::string& party, const std::string& serial) {
    const std::lock_guard lock(state_->mutex);
    state_->book.admit(plain_address(peer), party, serial);
    state_->book.credit(plain_address(peer), call_bytes);
    // The list may have changed since the caller was let in.
    if (!state_->revoked.contains(serial)) return;
    for (const auto id : state_->book.of_serials({serial})) state_->end(id);
}

void Gate::dismiss(const std::string& peer) {
    const std::lock_guard lock(state_->mutex);
    if (const auto id = state_->book.find(plain_address(peer))) state_->end(*id);
}

void Gate::dismiss_all(const std::string& serial) {
    const std::lock_guard lock(state_->mutex);
    for (const auto id : state_->book.of_serials({serial})) state_->end(id);
}

void Gate::credit(const std::string& address, std::size_t bytes) {
    const std::lock_guard lock(state_->mutex);
    state_->book.credit(address, credit_for(bytes));
}

std::string Gate::trouble() const {
    const std::lock_guard lock(state_->mutex);
    return state_->trouble.empty() ? state_->unreadable : state_->trouble;
}

}  // namespace couplet::net
