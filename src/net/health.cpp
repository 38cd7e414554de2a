#include "health.hpp"

#include <chrono>
#include <optional>
#include <thread>

#include "couplet/core/error.hpp"
#include "unary_reply.hpp"

namespace couplet::net {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::chrono::milliseconds glance{100};
constexpr std::chrono::milliseconds write_patience{5000};
constexpr const char* service_name = "couplet.v1.Federation";

bool is_known(const HealthCheckRequest& request) {
    return request.service().empty() || request.service() == service_name;
}

}  // namespace

HealthCheckResponse::ServingStatus HealthService::status() const {
    return trouble_().empty() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context, const HealthCheckRequest* request,
                                               HealthCheckResponse* reply) {
    return UnaryReply::finish(*context, watchdog_, check(*context, *request, *reply));
}

grpc::Status HealthService::check(const grpc::CallbackServerContext& context, const HealthCheckRequest& request,
                                  HealthCheckResponse& reply) {
    try {
        entrance_.identify(context);
    } catch (const InputError& error) {
        refused_(error.what());
        return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
    }
    if (!is_known(request)) return {grpc::StatusCode::NOT_FOUND, "no such service"};
    reply.set_status(status());
    return grpc::Status::OK;
}

grpc::Status HealthService::Watch(grpc::ServerContext* context, const HealthCheckRequest* request,
                                  grpc::ServerWriter<HealthCheckResponse>* writer) {
    std::string name;
    Doorman::Place place;
    try {
        const Caller caller = entrance_.identify(*context);
        name = caller.name;
        place = entrance_.place_for(caller);
    } catch (const InputError& error) {
        refused_(error.what());
        return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
    }
    if (!place) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "more calls at the same time than anybody needs"};
    {
        const std::lock_guard lock(mutex_);
        auto& mine = watching_[name];
        if (mine != nullptr) mine->TryCancel();
        mine = context;
    }
    std::optional<HealthCheckResponse::ServingStatus> said;
    while (!context->IsCancelled()) {
        const auto now = is_known(*request) ? status() : HealthCheckResponse::SERVICE_UNKNOWN;
        if (said != now) {
            HealthCheckResponse reply;
            reply.set_status(now);
            watchdog_.arm(context, write_patience, [context] { context->TryCancel(); });
            const bool good = writer->Write(reply);
            watchdog_.disarm(context);
            if (!good) break;
            said = now;
        }
        std::this_thread::sleep_for(glance);
    }
    const std::lock_guard lock(mutex_);
    if (watching_[name] == context) watching_.erase(name);
    return {grpc::StatusCode::CANCELLED, "the watch is over"};
}

}  // namespace couplet::net
