#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "entrance.hpp"
#include "health.grpc.pb.h"
#include "watchdog.hpp"

namespace couplet::net {

/// grpc.health.v1 for parties of the federation, and for nobody else: whether the daemon accepts and serves.
class HealthService final
    : public grpc::health::v1::Health::WithCallbackMethod_Check<grpc::health::v1::Health::Service> {
  public:
    /// `trouble` says what is wrong; empty: nothing. `refused` hears of callers that are turned away.
    HealthService(Entrance& entrance, Watchdog& watchdog, std::function<std::string()> trouble,
                  std::function<void(const std::string& reason)> refused)
        : entrance_(entrance), watchdog_(watchdog), trouble_(std::move(trouble)), refused_(std::move(refused)) {}

    grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                    const grpc::health::v1::HealthCheckRequest* request,
                                    grpc::health::v1::HealthCheckResponse* reply) override;
    /// One for each caller: a newer one ends the older, which holds a thread.
    grpc::Status Watch(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest* request,
                       grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) override;

  private:
    grpc::health::v1::HealthCheckResponse::ServingStatus status() const;
    grpc::Status check(const grpc::CallbackServerContext& context, const grpc::health::v1::HealthCheckRequest& request,
                       grpc::health::v1::HealthCheckResponse& reply);

    Entrance& entrance_;
    Watchdog& watchdog_;
    std::function<std::string()> trouble_;
    std::function<void(const std::string&)> refused_;
    std::mutex mutex_;
    std::map<std::string, grpc::ServerContext*> watching_;
};

}  // namespace couplet::net
