#include "grpc_log.hpp"

#include <grpc/support/log.h>

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace couplet::net {
namespace {

struct Listener {
    std::mutex mutex;
    std::function<void(const std::string&)> refused;
};

/// Never destroyed: gRPC's threads may speak while the process ends.
Listener& listener() {
    static auto* const only = new Listener;
    return *only;
}

void take(gpr_log_func_args* said) {
    const std::string_view text = said->message;
    if (text.find("Handshake failed") == std::string_view::npos) return;
    const std::size_t colon = text.rfind(':');
    Listener& known = listener();
    const std::lock_guard lock(known.mutex);
    if (known.refused) known.refused(std::string(text.substr(colon == std::string_view::npos ? 0 : colon + 1)));
}

}  // namespace

void quiet_grpc() {
    static const bool once = [] {
        if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(take);
        return true;
    }();
    static_cast<void>(once);
}

GrpcLog::GrpcLog(std::function<void(const std::string&)> refused) {
    quiet_grpc();
    const std::lock_guard lock(listener().mutex);
    listener().refused = std::move(refused);
}

GrpcLog::~GrpcLog() {
    const std::lock_guard lock(listener().mutex);
    listener().refused = nullptr;
}

}  // namespace couplet::net
