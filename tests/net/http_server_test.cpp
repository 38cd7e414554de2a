#include "http_server.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// Sends the text and returns everything that comes back.
std::string exchange(int port, const std::string& text) {
    const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::send(connection, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::recv(connection, buffer.data(), buffer.size(), 0)) > 0;) {
        all.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(connection);
    return all;
}

class HttpServerTest : public ::testing::Test {
  protected:
    HttpServer server_{0, [](const std::string& path) {
                           return HttpReply{200, "text/plain", "you asked for " + path};
                       }};
    std::string ask(const std::string& request) { return exchange(server_.port(), request); }
};

TEST_F(HttpServerTest, AnswersGet) {
    const std::string reply = ask("GET /metrics?x=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n");
    EXPECT_EQ(reply.find("HTTP/1.0 200 OK\r\n"), 0U);
    EXPECT_NE(reply.find("Content-Length: 22\r\n"), std::string::npos) << reply;
    EXPECT_NE(reply.find("\r\n\r\nyou asked for /metrics"), std::string::npos);
    EXPECT_NE(ask("GET / HTTP/1.0\r\n\r\n").find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesEverythingElse) {
    EXPECT_NE(ask("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n").find("405"), std::string::npos);
    // A page elsewhere whose name was made to point here.
    EXPECT_NE(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").find("403"), std::string::npos);
    EXPECT_NE(ask("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x')).find("400"), std::string::npos);
}

TEST(HttpServerFailureTest, AnAnswerThatFailsEndsNothing) {
    HttpServer server(0, [](const std::string& path) -> HttpReply {
        if (path == "/bad") throw std::runtime_error("not today");
        return {200, "text/plain", "well"};
    });
    EXPECT_EQ(exchange(server.port(), "GET /bad HTTP/1.0\r\n\r\n").find("HTTP/1.0 500 Internal Server Error\r\n"), 0U);
    EXPECT_NE(exchange(server.port(), "GET /bad HTTP/1.0\r\n\r\n").find("no answer: not today\n"), std::string::npos);
    EXPECT_EQ(exchange(server.port(), "GET / HTTP/1.0\r\n\r\n").find("HTTP/1.0 200 OK\r\n"), 0U);
}

TEST_F(HttpServerTest, TheHostIsThisMachineUnderEitherName) {
    const auto status = [&](const std::string& header) {
        const std::string reply = ask("GET / HTTP/1.1\r\n" + header + "\r\n\r\n");
        return reply.substr(9, 3);
    };
    for (const char* good : {"Host: localhost", "Host:localhost", "host: 127.0.0.1", "Host:   127.0.0.1:8080",
                             "Accept: x\r\nHost: localhost:1", "X: y", "Hos: evil"}) {
        EXPECT_EQ(status(good), "200") << good;
    }
    for (const char* bad : {"Host: 127.0.0.11", "Host: localhost.evil", "host: evil",
                            "Host:", "Accept: x\r\nhost:evil:80", "Host: evil\r\nHost: localhost"}) {
        EXPECT_EQ(status(bad), "403") << bad;
    }
}

TEST_F(HttpServerTest, SaysWhatItExpectsAndHowItMayBeShown) {
    const std::string bad = ask("POST / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(bad.find("HTTP/1.0 405 Method Not Allowed\r\n"), 0U) << bad;
    EXPECT_TRUE(bad.ends_with("\r\n\r\nonly GET is answered\n"));
    const std::string foreign = ask("GET / HTTP/1.1\r\nHost: evil\r\n\r\n");
    EXPECT_EQ(foreign.find("HTTP/1.0 403 Forbidden\r\n"), 0U) << foreign;
    EXPECT_TRUE(foreign.ends_with("only requests to this machine are answered\n"));
    const std::string large = ask("GET / HTTP/1.1\r\nX: " + std::string(8300, 'x'));
    EXPECT_EQ(large.find("HTTP/1.0 400 Bad Request\r\n"), 0U) << large;
    EXPECT_TRUE(large.ends_with("a short GET request is expected\n"));
    const std::string fits = ask("GET / HTTP/1.1\r\nX: " + std::string(8100, 'x') + "\r\n\r\n");
    EXPECT_EQ(fits.find("HTTP/1.0 200 OK\r\n"), 0U);
    for (const char* header : {"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n",
                               "X-Content-Type-Options: nosniff\r\n", "Cache-Control: no-store\r\n",
                               "Connection: close\r\n", "Content-Type: text/plain\r\n"}) {
        EXPECT_NE(fits.find(header), std::string::npos) << header;
    }
}

/// A caller that says nothing more is given up, and the next one is answered.
TEST_F(HttpServerTest, ASlowCallerDoesNotKeepTheOthers) {
    EXPECT_EQ(ask("GET / HTTP/1.1\r\n"), "") << "its time is over, for the answer too";
    EXPECT_EQ(ask("GET / HTTP/1.0\r\n\r\n").find("HTTP/1.0 200"), 0U);
}

/// More callers than it answers at once, all of them silent: the next one is answered at once.
TEST_F(HttpServerTest, SilentCallersDoNotKeepTheOthers) {
    std::vector<int> silent;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(server_.port()));
    for (int i = 0; i < 100; ++i) {
        silent.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(silent.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("GET / HTTP/1.0\r\n\r\n").find("HTTP/1.0 200"), 0U);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, at_ease(10s)) << "one after the other they would take minutes";
    for (const int one : silent) ::close(one);
}

TEST_F(HttpServerTest, TheSamePortTwiceIsAnError) {
    EXPECT_NE(complaint([&] { HttpServer(server_.port(), {}); }).find("http_port"), std::string::npos);
}

/// In a real browser, while a job waits.
TEST_F(HttpServerTest, TheStatusPageWorksInABrowser) {
    std::string pattern = ::testing::TempDir() + "couplet-browser-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(pattern.data());
    const TestFederation federation(folder / "kits", population(2, {6, 4}, 2));
    Log log({}, {});
    const Coordinator coordinator(federation.coordinator(), job_options({.rank = 2}), log);
    const std::string command =
        "HOME='" + folder.string() +
        "' timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir='" +
        folder.string() + "/profile' --dump-dom http://127.0.0.1:" + std::to_string(coordinator.http_port()) + "/ 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string dom;
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) dom.append(buffer.data(), n);
    ::pclose(pipe);
    // The parser of the browser has made a table of it.
    EXPECT_NE(dom.find("<tbody><tr><th>client</th>"), std::string::npos) << dom;
    EXPECT_NE(dom.find("<td>a</td><td>absent</td>"), std::string::npos) << dom;
    EXPECT_NE(dom.find("is <strong>joining</strong>"), std::string::npos) << dom;
    EXPECT_NE(dom.find("listening on"), std::string::npos) << "the log: " << dom;
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace couplet::net
