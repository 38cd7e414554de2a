#include "couplet/net/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <span>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/wire/hex.hpp"

namespace couplet::net {
namespace {

template <auto F>
struct Free {
    template <class T>
    void operator()(T* p) const {
        F(p);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
using Request = std::unique_ptr<X509_REQ, Free<X509_REQ_free>>;
using Hashing = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

void require(bool done, const char* what) {
    if (!done) throw RunError({"OpenSSL", std::string(what) + " failed", "a working libcrypto", ""});
}

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

Bio memory(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Key parse_key(const std::string& pem) {
    return Key(PEM_read_bio_PrivateKey(memory(pem).get(), nullptr, nullptr, nullptr));
}

Certificate parse_pem(const std::string& pem) {
    return Certificate(PEM_read_bio_X509(memory(pem).get(), nullptr, nullptr, nullptr));
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "a certificate extension");
}

void set_random_serial(X509* certificate) {
    std::array<unsigned char, 16> bytes{};
    require(RAND_bytes(bytes.data(), bytes.size()) == 1, "random bytes");
    bytes[0] &= 0x7f;  // serial numbers are positive
    bytes[0] |= 0x40;  // and all of one length
    const Number number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
    require(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr, "a serial number");
}

void set_subject(X509_NAME* name, const std::string& organisation, const std::string& common) {
    const auto add = [&](const char* field, const std::string& value) {
        require(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                           reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0) == 1,
                "a certificate name");
    };
    add("O", organisation);
    add("CN", common);
}

/// A certificate for `key` with everything but its extensions and signature.
Certificate blank(EVP_PKEY* key, const std::string& federation, const std::string& common, Validity validity) {
    constexpr long day = 24L * 3600;
    // Clocks differ a little between machines.
    constexpr long skew = 3600;
    Certificate certificate(X509_new());
    require(certificate && X509_set_version(certificate.get(), 2) == 1, "a certificate");
    set_random_serial(certificate.get());
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), validity.from * day - skew);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), validity.until * day);
    require(X509_set_pubkey(certificate.get(), key) == 1, "a public key");
    set_subject(X509_get_subject_name(certificate.get()), federation, common);
    return certificate;
}

KeyPair to_pem(EVP_PKEY* key, X509* certificate) {
    const Bio key_text(BIO_new(BIO_s_mem()));
    const Bio certificate_text(BIO_new(BIO_s_mem()));
    require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "PEM");
    require(PEM_write_bio_X509(certificate_text.get(), certificate) == 1, "PEM");
    return {text_of(key_text.get()), text_of(certificate_text.get())};
}

std::int64_t seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    require(ASN1_TIME_to_tm(time, &parts) == 1, "a certificate's time");
    return ::timegm(&parts);
}

std::string serial_of(X509* certificate) {
    const Number number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
    const std::unique_ptr<char, void (*)(char*)> digits(BN_bn2hex(number.get()), [](char* p) { OPENSSL_free(p); });
    return digits.get();
}

std::optional<Identity> identity_of(X509* certificate) {
    const Names names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::optional<Identity> found;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type != GEN_URI) continue;
        const auto* uri = name->d.uniformResourceIdentifier;
        const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri));
        if (found) return std::nullopt;  // one party, one identity
        found = parse_uri({data, static_cast<std::size_t>(ASN1_STRING_length(uri))});
        if (!found) return std::nullopt;
    }
    return found;
}

std::string date_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
    return text.data();
}

/// A party's certificate for that key, signed.
Certificate certified(const KeyPair& authority, EVP_PKEY* key, const Identity& identity, Validity validity) {
    const Key signer = parse_key(authority.key);
    const Certificate issuer = parse_pem(authority.certificate);
    if (!signer || !issuer) {
        throw InputError({"authority", "no key and certificate", "those that couplet provision made", ""});
    }
    Certificate certificate = blank(key, identity.federation, identity.name, validity);
    require(X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) == 1, "an issuer");
    const bool serves = identity.role != Role::client;
    // A coordinator also calls: for its own status.
    const std::string usage = serves ? "serverAuth,clientAuth" : "clientAuth";
    const std::string host = serves ? std::string(",DNS:") + coordinator_host : "";
    add_extension(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
    add_extension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature");
    add_extension(certificate.get(), issuer.get(), NID_ext_key_usage, usage);
    add_extension(certificate.get(), issuer.get(), NID_subject_alt_name, "URI:" + to_uri(identity) + host);
    add_extension(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid");
    require(X509_sign(certificate.get(), signer.get(), EVP_sha256()) > 0, "signing");
    return certificate;
}

Request parse_request(const std::string& pem, const std::string& where) {
    Request request(PEM_read_bio_X509_REQ(memory(pem).get(), nullptr, nullptr, nullptr));
    if (!request) {
        throw InputError({where, "no request for a certificate", "what couplet provision --request made", ""});
    }
    EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
    std::array<char, 64> curve{};
    const bool p256 = key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
                      EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) == 1 &&
                      std::string_view(curve.data()) == "prime256v1";
    if (!p256) throw InputError({where, "a request for another kind of key", "one for a P-256 key", ""});
    if (X509_REQ_verify(request.get(), key) != 1) {
        throw InputError(
            {where, "a request that the owner of its key has not signed", "what couplet provision --request made", ""});
    }
    return request;
}

std::string fingerprint(EVP_PKEY* key) {
    unsigned char* bytes = nullptr;
    const int size = i2d_PUBKEY(key, &bytes);
    require(size > 0, "a public key");
    std::array<unsigned char, 32> digest{};
    require(EVP_Digest(bytes, static_cast<std::size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr) == 1,
            "SHA-256");
    OPENSSL_free(bytes);
    return wire::to_hex(digest);
}

/// Whether the authority has signed it; says nothing of the time.
bool is_issued_by(X509* certificate, X509* issuer) {
    const Store store(X509_STORE_new());
    const StoreContext context(X509_STORE_CTX_new());
    require(store && context, "a certificate store");
    return issuer != nullptr && X509_STORE_add_cert(store.get(), issuer) == 1 &&
           X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) == 1 &&
           X509_verify_cert(context.get()) == 1;
}

constexpr std::array<std::string_view, 3> role_names{"coordinator", "client", "peer"};

}  // namespace

std::string_view to_string(Role role) noexcept { return role_names[static_cast<std::size_t>(role)]; }

std::optional<Role> parse_role(std::string_view text) noexcept {
    for (std::size_t i = 0; i < role_names.size(); ++i) {
        if (role_names[i] == text) return static_cast<Role>(i);
    }
    return std::nullopt;
}

std::string to_uri(const Identity& identity) {
    return "couplet://" + identity.federation + "/" + std::string(to_string(identity.role)) + "/" + identity.name;
}

std::optional<Identity> parse_uri(std::string_view uri) {
    constexpr std::string_view scheme = "couplet://";
    if (!uri.starts_with(scheme)) return std::nullopt;
    uri.remove_prefix(scheme.size());
    const std::size_t first = uri.find('/');
    const std::size_t second = first == std::string_view::npos ? first : uri.find('/', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto role = parse_role(uri.substr(first + 1, second - first - 1));
    const std::string name(uri.substr(second + 1));
    try {
        require_party_name(name, "certificate");
    } catch (const InputError&) {
        return std::nullopt;
    }
    if (!role || first == 0) return std::nullopt;
    return Identity{std::string(uri.substr(0, first)), *role, name};
}

void require_party_name(const std::string& name, const std::string& where) {
    const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    const auto is_part = [&](char c) { return is_word(c) || c == '.' || c == '_' || c == '-'; };
    constexpr std::size_t longest = 63;
    if (!name.empty() && name.size() <= longest && is_word(name.front()) &&
        std::all_of(name.begin(), name.end(), is_part)) {
        return;
    }
    throw InputError({where, shown(name), "a name of lower-case letters, digits, '.', '_' and '-', at most 63",
                      "For example: hospital-a"});
}

KeyPair make_authority(const std::string& federation, Validity validity) {
    const Key key(EVP_EC_gen("P-256"));
    require(key != nullptr, "a P-256 key");
    const Certificate certificate = blank(key.get(), federation, "authority", validity);
    require(X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) == 1, "an issuer");
    add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
    require(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "signing");
    return to_pem(key.get(), certificate.get());
}

KeyPair issue_certificate(const KeyPair& authority, const Identity& identity, Validity validity) {
    const Key key(EVP_EC_gen("P-256"));
    require(key != nullptr, "a P-256 key");
    const Certificate certificate = certified(authority, key.get(), identity, validity);
    return to_pem(key.get(), certificate.get());
}

KeyRequest make_request(const std::string& name) {
    const Key key(EVP_EC_gen("P-256"));
    const Request request(X509_REQ_new());
    require(key && request && X509_REQ_set_version(request.get(), 0) == 1, "a request");
    set_subject(X509_REQ_get_subject_name(request.get()), "couplet", name);
    require(X509_REQ_set_pubkey(request.get(), key.get()) == 1, "a public key");
    require(X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0, "signing");
    const Bio key_text(BIO_new(BIO_s_mem()));
    const Bio request_text(BIO_new(BIO_s_mem()));
    require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
            "PEM");
    require(PEM_write_bio_X509_REQ(request_text.get(), request.get()) == 1, "PEM");
    return {text_of(key_text.get()), text_of(request_text.get())};
}

RequestInfo read_request(const std::string& pem, const std::string& where) {
    const Request request = parse_request(pem, where);
    std::array<char, 256> name{};
    X509_NAME_get_text_by_NID(X509_REQ_get_subject_name(request.get()), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    require_party_name(name.data(), where);
    return {name.data(), fingerprint(X509_REQ_get0_pubkey(request.get()))};
}

std::string key_fingerprint(const std::string& key) {
    const Key parsed = parse_key(key);
    if (!parsed) throw InputError({"key", "no private key", "one that couplet provision made", ""});
    return fingerprint(parsed.get());
}

std::string certificate_fingerprint(const std::string& pem, const std::string& where) {
    const Certificate parsed = parse_pem(pem);
    if (!parsed) throw InputError({where, "no certificate", "one that couplet provision made", ""});
    return fingerprint(X509_get0_pubkey(parsed.get()));
}

std::string sign_request(const KeyPair& authority, const std::string& request, const Identity& identity,
                         Validity validity, const std::string& where) {
    const Request parsed = parse_request(request, where);
    const Certificate certificate = certified(authority, X509_REQ_get0_pubkey(parsed.get()), identity, validity);
    const Bio text(BIO_new(BIO_s_mem()));
    require(PEM_write_bio_X509(text.get(), certificate.get()) == 1, "PEM");
    return text_of(text.get());
}

std::string sign_text(const std::string& key, std::string_view text) {
    const Key signer = parse_key(key);
    const Hashing hashing(EVP_MD_CTX_new());
    require(signer && hashing && EVP_DigestSignInit(hashing.get(), nullptr, EVP_sha256(), nullptr, signer.get()) == 1,
            "signing");
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    require(EVP_DigestSign(hashing.get(), nullptr, &size, bytes, text.size()) == 1, "signing");
    std::string signature(size, '\0');
    require(EVP_DigestSign(hashing.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                           text.size()) == 1,
            "signing");
    signature.resize(size);
    return signature;
}

bool is_signed(const std::string& certificate, std::string_view text, const std::string& signature) {
    const Certificate parsed = parse_pem(certificate);
    const Hashing hashing(EVP_MD_CTX_new());
    if (!parsed || !hashing) return false;
    return EVP_DigestVerifyInit(hashing.get(), nullptr, EVP_sha256(), nullptr, X509_get0_pubkey(parsed.get())) == 1 &&
           EVP_DigestVerify(hashing.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
}

CertificateInfo read_certificate(const std::string& pem, const std::string& where) {
    const Certificate certificate = parse_pem(pem);
    const auto identity = certificate ? identity_of(certificate.get()) : std::nullopt;
    if (!identity) {
        throw InputError({where, certificate ? "a certificate of nobody in a federation" : "no certificate",
                          "one that couplet provision made", ""});
    }
    return {*identity, serial_of(certificate.get()), seconds_of(X509_get0_notBefore(certificate.get())),
            seconds_of(X509_get0_notAfter(certificate.get()))};
}

void check_certificate(const std::string& pem, const std::string& authority, std::int64_t now,
                       const std::string& where) {
    const CertificateInfo info = read_certificate(pem, where);
    if (now > info.not_after || now < info.not_before) {
        const bool late = now > info.not_after;
        throw InputError(
            {where, (late ? "expired on " : "not valid before ") + date_text(late ? info.not_after : info.not_before),
             "a certificate that is valid now",
             late ? "Run: couplet provision --rotate " + info.identity.name + " -o KITS"
                  : "Check the clock of this machine."});
    }
    if (!is_issued_by(parse_pem(pem).get(), parse_pem(authority).get())) {
        throw InputError({where, "signed by another authority", "the authority of this federation (ca.pem)",
                          "Use the kit as couplet provision made it."});
    }
}

void check_key_pair(const KeyPair& pair, const std::string& authority, std::int64_t now, const std::string& where) {
    const CertificateInfo info = read_certificate(pair.certificate, where);
    const Key key = parse_key(pair.key);
    if (!key || X509_check_private_key(parse_pem(pair.certificate).get(), key.get()) != 1) {
        throw InputError({where, "a key of another certificate", "the key that belongs to it",
                          "Run: couplet provision --rotate " + info.identity.name + " -o KITS"});
    }
    check_certificate(pair.certificate, authority, now, where);
}

std::string random_hex() {
    std::array<unsigned char, 16> bytes{};
    require(RAND_bytes(bytes.data(), bytes.size()) == 1, "random bytes");
    return wire::to_hex(bytes);
}

}  // namespace couplet::net
