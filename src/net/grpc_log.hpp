#pragma once

#include <functional>
#include <string>

namespace couplet::net {

/// gRPC prints what goes wrong to stderr; from the first of these on it does not, and failed handshakes, which nobody
/// else hears of, go to `refused` while the object lives. One at a time is told. GRPC_VERBOSITY brings the prints back.
class GrpcLog {
  public:
    explicit GrpcLog(std::function<void(const std::string&)> refused);
    ~GrpcLog();
    GrpcLog(const GrpcLog&) = delete;
    GrpcLog& operator=(const GrpcLog&) = delete;
};

/// What gRPC says of a connection that came to nothing, with what it may mean where it says little.
std::string handshake_text(const std::string& said);

/// Silence alone, for clients: they are told by status.
void quiet_grpc();

}  // namespace couplet::net
