#include "http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <sstream>
#include <system_error>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_request = 8192;
constexpr std::chrono::milliseconds patience{2000};

/// False when nothing can be done until `until`.
bool wait_for(int descriptor, short events, Clock::time_point until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{descriptor, events, 0};
    return left > 0 && ::poll(&entry, 1, static_cast<int>(left)) > 0;
}

/// Up to the empty line; nothing when it does not come in time or is too long.
std::optional<std::string> read_request(int connection, Clock::time_point until) {
    std::string request;
    std::array<char, 1024> buffer{};
    while (request.find("\r\n\r\n") == std::string::npos) {
        if (request.size() > most_request || !wait_for(connection, POLLIN, until)) return std::nullopt;
        const ssize_t count = ::recv(connection, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count <= 0) return std::nullopt;
        request.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return request;
}

void write_all(int connection, std::string_view text, Clock::time_point until) {
    while (!text.empty()) {
        if (!wait_for(connection, POLLOUT, until)) return;
        const ssize_t count = ::send(connection, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

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
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
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
    ::close(listener_);
    ::close(wake_);
}

void HttpServer::serve() {
    for (;;) {
        std::array<pollfd, 2> entries{{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}}};
        if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
        if ((entries[1].revents & POLLIN) != 0) return;
        if ((entries[0].revents & POLLIN) == 0) continue;
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) continue;
        answer(connection);
        ::close(connection);
    }
}

void HttpServer::answer(int connection) {
    const auto until = Clock::now() + patience;
    const auto request = read_request(connection, until);
    HttpReply reply{400, "text/plain; charset=utf-8", "a short GET request is expected\n"};
    if (request) {
        std::istringstream first(*request);
        std::string method;
        std::string path;
        first >> method >> path;
        if (method != "GET") {
            reply = {405, reply.type, "only GET is answered\n"};
        } else if (!names_this_machine(*request)) {
            reply = {403, reply.type, "only requests to this machine are answered\n"};
        } else {
            reply = handler_(path.substr(0, path.find('?')));
        }
    }
    write_all(connection, response(reply), until);
}

}  // namespace couplet::net
