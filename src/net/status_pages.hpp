#pragma once

#include <string>
#include <vector>

#include "couplet/net/status.hpp"
#include "http_server.hpp"

namespace couplet::net {

/// What a browser, a monitor or a script is shown of a coordinator.
struct ShownStatus {
    StatusReport status;
    std::vector<std::string> log;  ///< its last lines
    std::string trouble;           ///< why nobody can connect; empty: all is well
};
/// The page at `path`: / for people, /metrics, /status.json, /healthz; whatever else is not there says which are.
HttpReply status_reply(const std::string& path, const ShownStatus& shown);

}  // namespace couplet::net
