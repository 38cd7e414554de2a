#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <optional>
#include <string>

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// Name under which a client without TLS says who it is.
inline constexpr const char* insecure_name_key = "couplet-client";

/// Mutual TLS, always: both sides must show a certificate of the federation's authority.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials& credentials);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials& credentials);

/// The certificate that the other side has shown; nothing without TLS.
std::optional<CertificateInfo> peer_certificate(const grpc::AuthContext& context);

}  // namespace couplet::net
