#include "status_pages.hpp"

namespace couplet::net {
namespace {

constexpr const char* plain = "text/plain; charset=utf-8";

std::string as_text(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

HttpReply status_reply(const std::string& path, const ShownStatus& shown) {
    if (path == "/") return {200, "text/html; charset=utf-8", status_page(shown.status, shown.log)};
    if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", status_metrics(shown.status)};
    if (path == "/status.json") return {200, "application/json", as_text(status_json(shown.status))};
    if (path == "/healthz") {
        if (shown.trouble.empty()) return {200, plain, "ok\n"};
        return {503, plain, shown.trouble + "\n"};
    }
    return {404, plain, "there are /, /metrics, /status.json and /healthz\n"};
}

}  // namespace couplet::net
