#include "http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <sstream>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_request = 8192;
constexpr std::chrono::milliseconds patience{2000};
// Callers at once; more end the one that has waited longest. Few: nobody may take the descriptors of the daemon.
constexpr std::size_t most_callers = 32;
constexpr int backlog = 128;
// When no descriptor is left: asking again at once would be asking for ever.
constexpr std::chrono::milliseconds breath{100};

bool names_this_machine(const std::string& request) {
    std::istringstream lines(request);
    for (std::string line; std::getline(lines, line);) {
        if (line.size() < 5 || (line[0] != 'H' && line[0] != 'h') || line.substr(1, 4) != "ost:") continue;
        std::string host = line.substr(5);
        host.erase(0, host.find_first_not_of(' '));
        host = host.substr(0, host.find_first_of(":\r"));
        return host == "127.0.0.1" || host == "localhost";
    }
    return true;  // HTTP/1.0 needs none, and browsers always send one
}

const char* reason(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        default:
            return "Bad Request";
    }
}

std::string response(const HttpReply& reply) {
    return fmt::format(
        "HTTP/1.0 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n{}",
        reply.status, reason(reply.status), reply.type, reply.body.size(), reply.body);
}

}  // namespace

HttpServer::HttpServer(int port, Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, backlog) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
        const std::string why = std::generic_category().message(errno);
        if (listener_ >= 0) ::close(listener_);
        throw RunError({fmt::format("127.0.0.1:{}", port), why, "a free port for the status page",
                        "Change http_port in kit.toml; 0 takes any free one."});
    }
    port_ = ntohs(address.sin_port);
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
    thread_.join();
    for (const Caller& caller : callers_) ::close(caller.connection);
    ::close(listener_);
    ::close(wake_);
}

void HttpServer::serve() {
    std::vector<pollfd> entries;
    for (;;) {
        entries = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
        for (const Caller& caller : callers_) {
            entries.push_back({caller.connection, static_cast<short>(caller.reply.empty() ? POLLIN : POLLOUT), 0});
        }
        if (::poll(entries.data(), entries.size(), wait_milliseconds()) < 0 && errno != EINTR) return;
        if ((entries[1].revents & POLLIN) != 0) return;
        const auto now = Clock::now();
        for (std::size_t i = 0; i < callers_.size(); ++i) {
            Caller& caller = callers_[i];
            if (caller.until <= now || (entries[i + 2].revents != 0 && !attend(caller))) {
                ::close(std::exchange(caller.connection, -1));
            }
        }
        std::erase_if(callers_, [](const Caller& caller) { return caller.connection < 0; });
        if ((entries[0].revents & POLLIN) != 0) accept();
    }
}

int HttpServer::wait_milliseconds() const {
    if (callers_.empty()) return -1;
    // In the order of their coming, so the first has the least time left.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(callers_.front().until - Clock::now());
    return static_cast<int>(std::max<long>(0, left.count() + 1));
}

void HttpServer::accept() {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
        if (errno != EAGAIN && errno != EINTR) std::this_thread::sleep_for(breath);
        return;
    }
    callers_.push_back({connection, Clock::now() + patience, {}, {}});
    if (callers_.size() <= most_callers) return;
    ::close(callers_.front().connection);
    callers_.erase(callers_.begin());
}

bool HttpServer::attend(Caller& caller) {
    if (caller.reply.empty()) {
        std::array<char, 1024> buffer{};
        const ssize_t count = ::recv(caller.connection, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (count <= 0) return false;
        caller.request.append(buffer.data(), static_cast<std::size_t>(count));
        const bool complete = caller.request.find("\r\n\r\n") != std::string::npos;
        if (!complete && caller.request.size() <= most_request) return true;
        caller.reply =
            response(complete ? answer(caller.request)
                              : HttpReply{400, "text/plain; charset=utf-8", "a short GET request is expected\n"});
    }
    const ssize_t count =
        ::send(caller.connection, caller.reply.data(), caller.reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    caller.reply.erase(0, static_cast<std::size_t>(count));
    return !caller.reply.empty();
}

HttpReply HttpServer::answer(const std::string& request) const {
    constexpr const char* plain = "text/plain; charset=utf-8";
    std::istringstream first(request);
    std::string method;
    std::string path;
    first >> method >> path;
    if (method != "GET") return {405, plain, "only GET is answered\n"};
    if (!names_this_machine(request)) return {403, plain, "only requests to this machine are answered\n"};
    try {
        return handler_(path.substr(0, path.find('?')));
    } catch (const std::exception& error) {
        // Whoever asks must not end the daemon.
        return {500, plain, fmt::format("no answer: {}\n", error.what())};
    }
}

}  // namespace couplet::net
