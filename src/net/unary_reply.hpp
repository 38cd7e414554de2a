#pragma once

#include <grpcpp/support/server_callback.h>

#include <chrono>

#include "watchdog.hpp"

namespace couplet::net {

/// The end of a call with one answer. No thread waits for it to be read, as one does for every call of a service that
/// returns its answers: whoever gives no window for them would hold as many as it has calls. A call whose answer is not
/// read in time is ended.
class UnaryReply final : public grpc::ServerUnaryReactor {
  public:
    /// What a handler returns; the answer must have been written before. It deletes itself.
    static grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext& context, Watchdog& watchdog,
                                            const grpc::Status& status) {
        auto* reply = new UnaryReply(context, watchdog);
        reply->Finish(status);
        return reply;
    }

  private:
    static constexpr std::chrono::milliseconds patience{5000};

    UnaryReply(grpc::CallbackServerContext& context, Watchdog& watchdog) : watchdog_(watchdog) {
        watchdog_.arm(this, patience, [&context] { context.TryCancel(); });
    }
    void OnDone() override {
        watchdog_.disarm(this);
        delete this;
    }

    Watchdog& watchdog_;
};

}  // namespace couplet::net
