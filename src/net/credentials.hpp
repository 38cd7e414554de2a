#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// Name under which a client without TLS says who it is.
inline constexpr const char* insecure_name_key = "couplet-client";

/// Whether somebody may connect who has just shown that certificate; called at the end of a handshake, by any thread.
using Admission = std::function<bool(const CertificateInfo& certificate)>;

/// Mutual TLS, always: both sides must show a certificate of the federation's authority. A server that does not admit
/// one ends the connection before anything is read of it.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials& credentials, Admission admission);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials& credentials);

/// The certificate that the other side has shown, in PEM; empty without TLS.
std::string shown_certificate(const grpc::AuthContext& context);
/// What it says; nothing without TLS.
std::optional<CertificateInfo> peer_certificate(const grpc::AuthContext& context);

}  // namespace couplet::net
