#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace couplet::net {

struct HttpReply {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
};

/// Answers GET requests on 127.0.0.1: small requests, a short time for each, few at once, nothing kept open.
/// Requests whose Host is not this machine are refused, so that no web page elsewhere can read it through a browser.
class HttpServer {
  public:
    using Handler = std::function<HttpReply(const std::string& path)>;
    /// Port 0: any free one. Throws RunError when the port cannot be had.
    HttpServer(int port, Handler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    int port() const noexcept { return port_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Caller {
        int connection = -1;
        Clock::time_point until;
        std::string request;
        std::string reply;  ///< what is left of it; empty: the request is not complete
    };
    void serve();
    int wait_milliseconds() const;
    void accept();
    /// False when it is done or gone.
    bool attend(Caller& caller);
    HttpReply answer(const std::string& request) const;

    Handler handler_;
    int listener_ = -1;
    int wake_ = -1;
    int port_ = 0;
    std::vector<Caller> callers_;  ///< of the thread, in the order of their coming
    std::thread thread_;
};

}  // namespace couplet::net
