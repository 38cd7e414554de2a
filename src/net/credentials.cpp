#include "credentials.hpp"

#include <grpc/grpc_security_constants.h>

#include "couplet/core/error.hpp"

namespace couplet::net {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials& credentials) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = credentials.authority;
    options.pem_key_cert_pairs.push_back({credentials.own.key, credentials.own.certificate});
    return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials& credentials) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = credentials.authority;
    options.pem_private_key = credentials.own.key;
    options.pem_cert_chain = credentials.own.certificate;
    return grpc::SslCredentials(options);
}

std::optional<CertificateInfo> peer_certificate(const grpc::AuthContext& context) {
    if (!context.IsPeerAuthenticated()) return std::nullopt;
    const auto found = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (found.size() != 1) return std::nullopt;
    try {
        return read_certificate(std::string(found.front().data(), found.front().size()), "certificate");
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace couplet::net
