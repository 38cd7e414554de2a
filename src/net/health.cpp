#include "health.hpp"

#include <chrono>
#include <optional>
#include <thread>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::chrono::milliseconds glance{100};
constexpr const char* service_name = "couplet.v1.Federation";

bool is_known(const HealthCheckRequest& request) {
    return request.service().empty() || request.service() == service_name;
}

}  // namespace

HealthCheckResponse::ServingStatus HealthService::status() const {
    return trouble_().empty() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

grpc::Status HealthService::Check(grpc::ServerContext* context, const HealthCheckRequest* request,
                                  HealthCheckResponse* reply) {
    try {
        entrance_.identify(*context);
    } catch (const InputError& error) {
        refused_(error.what());
        return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
    }
    if (!is_known(*request)) return {grpc::StatusCode::NOT_FOUND, "no such service"};
    reply->set_status(status());
    return grpc::Status::OK;
}

grpc::Status HealthService::Watch(grpc::ServerContext* context, const HealthCheckRequest* request,
                                  grpc::ServerWriter<HealthCheckResponse>* writer) {
    std::string name;
    try {
        name = entrance_.identify(*context).name;
    } catch (const InputError& error) {
        refused_(error.what());
        return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
    }
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
            if (!writer->Write(reply)) break;
            said = now;
        }
        std::this_thread::sleep_for(glance);
    }
    const std::lock_guard lock(mutex_);
    if (watching_[name] == context) watching_.erase(name);
    return {grpc::StatusCode::CANCELLED, "the watch is over"};
}

}  // namespace couplet::net
