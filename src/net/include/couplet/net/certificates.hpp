#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace couplet::net {

/// What a party may be. Its certificate says so, and nothing else does.
enum class Role { coordinator, client, peer };
std::string_view to_string(Role role) noexcept;
std::optional<Role> parse_role(std::string_view text) noexcept;

/// Who a party is.
struct Identity {
    std::string federation;  ///< random, so that kits of two federations never fit each other
    Role role = Role::client;
    std::string name;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// couplet://FEDERATION/client/hospital-a, the subject alternative name of its certificate.
std::string to_uri(const Identity& identity);
std::optional<Identity> parse_uri(std::string_view uri);

/// Names of parties: lower-case letters, digits, '.', '_' and '-', at most 63, the first no sign. Throws InputError
/// that names `where`.
void require_party_name(const std::string& name, const std::string& where);

/// Every coordinator's certificate carries this host name, and clients expect it whatever the address: who may be
/// coordinator is decided by the federation's authority, not by DNS.
inline constexpr const char* coordinator_host = "coordinator.couplet";

/// A P-256 key and its certificate, as PEM text.
struct KeyPair {
    std::string key;
    std::string certificate;
};

/// Days from now; a start in the future or an end in the past is possible.
struct Validity {
    int from = 0;
    int until = 825;
};

/// A self-signed authority that can sign parties, and nothing below them.
KeyPair make_authority(const std::string& federation, Validity validity = {.from = 0, .until = 3650});

/// A certificate for one party with a new key. TLS itself lets nobody accept connections with a client's.
KeyPair issue_certificate(const KeyPair& authority, const Identity& identity, Validity validity = {});

struct CertificateInfo {
    Identity identity;
    std::string serial;           ///< hexadecimal
    std::int64_t not_before = 0;  ///< seconds since 1970
    std::int64_t not_after = 0;
};

/// Reads the certificate of a party. Throws InputError that names `where` unless it is one.
CertificateInfo read_certificate(const std::string& pem, const std::string& where);

/// Throws InputError that names `where` unless key and certificate belong together, the authority signed it, and it is
/// valid at `now` (seconds since 1970).
void check_key_pair(const KeyPair& pair, const std::string& authority, std::int64_t now, const std::string& where);

/// Throws InputError that names `where` unless the authority signed the certificate and it is valid at `now`.
void check_certificate(const std::string& pem, const std::string& authority, std::int64_t now,
                       const std::string& where);

/// ECDSA with SHA-256 by a private key.
std::string sign_text(const std::string& key, std::string_view text);
/// Whether the owner of the certificate's key has signed the text.
bool is_signed(const std::string& certificate, std::string_view text, const std::string& signature);

/// A new P-256 key and a request for a certificate for it, signed with it. The authority decides what its owner may be.
struct KeyRequest {
    std::string key;
    std::string request;  ///< PEM, PKCS #10
};
KeyRequest make_request(const std::string& name);

struct RequestInfo {
    std::string name;         ///< that it asks for
    std::string fingerprint;  ///< SHA-256 of its public key, to be compared by a way that nobody can forge
};
/// Throws InputError that names `where` unless it is a request that the owner of its P-256 key has signed.
RequestInfo read_request(const std::string& pem, const std::string& where);
/// SHA-256 of the public key of a private one, as in a request.
std::string key_fingerprint(const std::string& key);
/// The same of a certificate's key. Throws InputError that names `where`.
std::string certificate_fingerprint(const std::string& pem, const std::string& where);

/// A certificate for the key of a request. Throws InputError that names `where` as read_request().
std::string sign_request(const KeyPair& authority, const std::string& request, const Identity& identity,
                         Validity validity, const std::string& where);

/// 16 random bytes as hexadecimal digits.
std::string random_hex();

}  // namespace couplet::net
