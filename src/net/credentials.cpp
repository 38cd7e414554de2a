#include "credentials.hpp"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>
#include <vector>

#include "couplet/core/error.hpp"

namespace couplet::net {

namespace {

namespace tls = grpc::experimental;

/// Asks once TLS itself has verified the certificate.
class Asker final : public tls::ExternalCertificateVerifier {
  public:
    explicit Asker(Admission admission) : admission_(std::move(admission)) {}

    bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
                grpc::Status* status) override {
        const grpc::string_ref shown = request->peer_cert();
        try {
            const auto certificate = read_certificate(std::string(shown.data(), shown.size()), "certificate");
            if (admission_(certificate)) return true;
            *status = {grpc::StatusCode::UNAUTHENTICATED, "more connections than anybody needs"};
        } catch (const InputError&) {
            // Nobody's: its calls are refused, in words.
        }
        return true;
    }
    void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

  private:
    Admission admission_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials& credentials, Admission admission) {
    tls::TlsServerCredentialsOptions options(std::make_shared<tls::StaticDataCertificateProvider>(
        credentials.authority,
        std::vector<tls::IdentityKeyCertPair>{{credentials.own.key, credentials.own.certificate}}));
    options.watch_root_certs();
    options.watch_identity_key_cert_pairs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<Asker>(std::move(admission)));
    return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials& credentials) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = credentials.authority;
    options.pem_private_key = credentials.own.key;
    options.pem_cert_chain = credentials.own.certificate;
    return grpc::SslCredentials(options);
}

std::string shown_certificate(const grpc::AuthContext& context) {
    if (!context.IsPeerAuthenticated()) return "";
    const auto found = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    return found.size() == 1 ? std::string(found.front().data(), found.front().size()) : "";
}

std::optional<CertificateInfo> peer_certificate(const grpc::AuthContext& context) {
    const std::string shown = shown_certificate(context);
    if (shown.empty()) return std::nullopt;
    try {
        return read_certificate(shown, "certificate");
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace couplet::net
