#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace couplet::net {

struct HttpReply {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
};

/// Answers GET requests on 127.0.0.1, one after the other: small requests, a short time for each, nothing kept open.
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
    void serve();
    void answer(int connection);

    Handler handler_;
    int listener_ = -1;
    int wake_ = -1;
    int port_ = 0;
    std::thread thread_;
};

}  // namespace couplet::net
