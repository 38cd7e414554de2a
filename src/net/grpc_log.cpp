#include "grpc_log.hpp"

#include <grpc/support/log.h>

#include <algorithm>
#include <cstdio>
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
    if (text.starts_with("assertion failed")) {
        // gRPC ends the process next: there is no other place left to say why, and no later time.
        std::fprintf(stderr, "couplet: gRPC: %s:%d: %s\n", said->file, said->line, said->message);
        return;
    }
    if (text.find("Handshake failed") == std::string_view::npos) return;
    const std::size_t colon = text.rfind(':');
    Listener& known = listener();
    const std::lock_guard lock(known.mutex);
    if (!known.refused) return;
    known.refused(handshake_text(std::string(text.substr(colon == std::string_view::npos ? 0 : colon + 1))));
}

}  // namespace

std::string handshake_text(const std::string& said) {
    std::string text = said.substr(std::min(said.size(), said.find_first_not_of(' ')));
    if (text.find("certificate verify failed") != std::string::npos) {
        while (text.ends_with('.')) text.pop_back();
        return text +
               " (the certificate is of another federation, has expired or is not valid yet: compare kits and clocks)";
    }
    // With TLS 1.3 a server looks at the certificate when its client thinks that all is well.
    if (text.find("Socket closed") != std::string::npos) {
        return text +
               " (before or right after the handshake: it refuses the certificate of this kit, or it has too many "
               "connections of strangers; its log says which)";
    }
    return text;
}

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
