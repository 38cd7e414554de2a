#include "couplet/net/certificates.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

const Identity hospital{"fed1", Role::client, "hospital-a"};

/// As OpenSSL sees it, which is what TLS goes by.
std::shared_ptr<X509> parsed(const std::string& pem) {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
    return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free};
}
bool may(const std::string& pem, int purpose) { return X509_check_purpose(parsed(pem).get(), purpose, 0) == 1; }
bool is_host(const std::string& pem) {
    return X509_check_host(parsed(pem).get(), coordinator_host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
}
std::string date(std::int64_t seconds) {
    const std::time_t time = seconds;
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&time));
    return text;
}

TEST(CertificatesTest, AnIdentityIsReadBackFromItsUri) {
    EXPECT_EQ(to_uri(hospital), "couplet://fed1/client/hospital-a");
    EXPECT_EQ(parse_uri(to_uri(hospital)), hospital);
    for (const char* bad : {"", "couplet://", "couplet:///client/a", "couplet://f/king/a", "couplet://f/client/",
                            "couplet://f/client/A", "couplet://f/client/a/b", "http://f/client/a"}) {
        EXPECT_FALSE(parse_uri(bad)) << bad;
    }
}

TEST(CertificatesTest, NamesAreRestricted) {
    for (const std::string& good :
         std::vector<std::string>{"a", "z", "0", "9", "hospital-a", "h1.x_y", "az09._-", std::string(63, 'a')}) {
        EXPECT_NO_THROW(require_party_name(good, "x")) << good;
    }
    for (const char* bad : {"`", "{", "/", ":", ".a", "_a", "aA", "a{"}) {
        EXPECT_THROW(require_party_name(bad, "x"), InputError) << bad;
    }
    EXPECT_EQ(
        complaint([] { require_party_name("A", "--clients"); }),
        "--clients: 'A'; expected a name of lower-case letters, digits, '.', '_' and '-', at most 63. For example: "
        "hospital-a");
    for (const std::string& bad :
         std::vector<std::string>{"", "-a", "A", "a b", "../x", "a/b", "\xc3\xa9", std::string(64, 'a')}) {
        EXPECT_THROW(require_party_name(bad, "x"), InputError) << bad;
    }
}

TEST(CertificatesTest, ACertificateSaysWhoAndWhat) {
    const KeyPair authority = make_authority("fed1");
    const KeyPair pair = issue_certificate(authority, hospital, {.from = 0, .until = 10});
    const CertificateInfo info = read_certificate(pair.certificate, "x");
    EXPECT_EQ(info.identity, hospital);
    EXPECT_EQ(info.serial.size(), 32U);
    EXPECT_NE(info.serial, read_certificate(issue_certificate(authority, hospital).certificate, "x").serial);
    const std::int64_t now = std::time(nullptr);
    EXPECT_LT(info.not_before, now);
    EXPECT_NEAR(static_cast<double>(info.not_after - now), 10 * 86400, 100);
    EXPECT_NO_THROW(check_key_pair(pair, authority.certificate, now, "x"));
    EXPECT_THROW(read_certificate(authority.certificate, "x"), InputError) << "the authority is no party";
    EXPECT_THROW(read_certificate("nonsense", "x"), InputError);
}

/// A client that could serve could pose as the coordinator of its own federation.
TEST(CertificatesTest, ACertificateIsGoodForItsRoleAlone) {
    const KeyPair authority = make_authority("fed1");
    const auto pem = [&](Role role) { return issue_certificate(authority, {"fed1", role, "a"}).certificate; };
    for (const Role role : {Role::coordinator, Role::client, Role::peer}) {
        const std::string own = pem(role);
        EXPECT_TRUE(may(own, X509_PURPOSE_SSL_CLIENT)) << to_string(role);
        EXPECT_EQ(may(own, X509_PURPOSE_SSL_SERVER), role != Role::client) << to_string(role);
        EXPECT_EQ(is_host(own), role != Role::client) << to_string(role);
        EXPECT_EQ(X509_check_ca(parsed(own).get()), 0) << "it signs nobody";
        EXPECT_EQ(X509_get_key_usage(parsed(own).get()), KU_DIGITAL_SIGNATURE + 0U);
        EXPECT_EQ(read_certificate(own, "x").identity, (Identity{"fed1", role, "a"}));
    }
    EXPECT_EQ(X509_check_ca(parsed(authority.certificate).get()), 1);
    EXPECT_EQ(X509_get_key_usage(parsed(authority.certificate).get()), KU_KEY_CERT_SIGN + KU_CRL_SIGN + 0U);
    EXPECT_EQ(X509_get_pathlen(parsed(authority.certificate).get()), 0) << "no authority below it";
    EXPECT_FALSE(is_host(authority.certificate));
}

TEST(CertificatesTest, OnePartyHasOneIdentity) {
    const KeyPair authority = make_authority("fed1");
    // Its names become couplet://fed1/client/a and couplet://fed2/client/hospital-a.
    const Identity two{"fed1/client/a,URI:couplet://fed2", Role::client, "hospital-a"};
    const std::string pem = issue_certificate(authority, two).certificate;
    EXPECT_EQ(complaint([&] { read_certificate(pem, "cert.pem"); }),
              "cert.pem: a certificate of nobody in a federation; expected one that couplet provision made");
    EXPECT_EQ(complaint([&] { read_certificate(authority.certificate, "ca.pem"); }),
              "ca.pem: a certificate of nobody in a federation; expected one that couplet provision made");
    EXPECT_EQ(complaint([] { read_certificate("", "cert.pem"); }),
              "cert.pem: no certificate; expected one that couplet provision made");
    EXPECT_EQ(complaint([] {
                  issue_certificate({"", ""}, hospital);
              }),
              "authority: no key and certificate; expected those that couplet provision made");
    EXPECT_THROW(issue_certificate({authority.key, ""}, hospital), InputError);
    EXPECT_THROW(issue_certificate({"", authority.certificate}, hospital), InputError);
}

TEST(CertificatesTest, IsValidFromItsFirstSecondToItsLast) {
    const KeyPair authority = make_authority("fed1");
    const KeyPair pair = issue_certificate(authority, hospital, {.from = 0, .until = 10});
    const CertificateInfo info = read_certificate(pair.certificate, "x");
    const std::int64_t now = std::time(nullptr);
    EXPECT_NEAR(static_cast<double>(now - info.not_before), 3600, 100) << "clocks differ";
    const auto refused = [&](std::int64_t time) {
        return complaint([&] { check_key_pair(pair, authority.certificate, time, "cert.pem"); });
    };
    EXPECT_EQ(refused(info.not_before), "");
    EXPECT_EQ(refused(info.not_after), "");
    EXPECT_EQ(refused(info.not_before - 1), "cert.pem: not valid before " + date(info.not_before) +
                                                "; expected a certificate that is valid now. Check the clock of this "
                                                "machine.");
    EXPECT_EQ(refused(info.not_after + 1), "cert.pem: expired on " + date(info.not_after) +
                                               "; expected a certificate that is valid now. Run: couplet provision "
                                               "--rotate hospital-a -o KITS");
    const KeyPair later = issue_certificate(authority, hospital, {.from = 3, .until = 10});
    EXPECT_NEAR(static_cast<double>(read_certificate(later.certificate, "x").not_before - now), 3 * 86400 - 3600, 100);
}

TEST(CertificatesTest, PairsThatCannotBeUsedAreRefused) {
    const KeyPair authority = make_authority("fed1");
    const KeyPair other = make_authority("fed1");
    const KeyPair pair = issue_certificate(authority, hospital);
    const KeyPair second = issue_certificate(authority, hospital);
    const std::int64_t now = std::time(nullptr);
    const auto refused = [&](const KeyPair& p, const std::string& ca, std::int64_t time) {
        return complaint([&] { check_key_pair(p, ca, time, "cert.pem"); });
    };
    EXPECT_EQ(
        refused(pair, other.certificate, now),
        "cert.pem: signed by another authority; expected the authority of this federation (ca.pem). Use the kit as "
        "couplet provision made it.");
    EXPECT_EQ(refused(pair, "", now), refused(pair, other.certificate, now)) << "no authority is another one";
    EXPECT_EQ(refused({"", pair.certificate}, authority.certificate, now),
              "cert.pem: a key of another certificate; expected the key that belongs to it. Run: couplet provision "
              "--rotate hospital-a -o KITS");
    EXPECT_NE(refused({second.key, pair.certificate}, authority.certificate, now).find("key"), std::string::npos);
    EXPECT_NE(refused(pair, authority.certificate, now + 1000L * 86400).find("expired on"), std::string::npos);
    EXPECT_NE(refused(pair, authority.certificate, now - 1000L * 86400).find("not valid before"), std::string::npos);
    EXPECT_THROW(issue_certificate({"", ""}, hospital), InputError);
}

TEST(CertificatesTest, RandomDigitsDiffer) {
    EXPECT_EQ(random_hex().size(), 32U);
    EXPECT_NE(random_hex(), random_hex());
    std::string seen;
    for (int i = 0; i < 100; ++i) seen += random_hex();
    EXPECT_EQ(seen.find_first_not_of("0123456789abcdef"), std::string::npos);
    for (const char digit : std::string("0123456789abcdef")) {
        EXPECT_NE(seen.find(digit), std::string::npos) << digit;
        EXPECT_GT(std::ranges::count(seen, digit), 50) << "evenly: 200 are expected of each";
    }
}

TEST(CertificatesTest, SignsTextsAndTellsWhoHas) {
    const KeyPair authority = make_authority("f");
    const KeyPair a = issue_certificate(authority, {"f", Role::peer, "a"});
    const KeyPair b = issue_certificate(authority, {"f", Role::peer, "b"});
    const std::string signature = sign_text(a.key, "what a says");
    EXPECT_TRUE(is_signed(a.certificate, "what a says", signature));
    EXPECT_FALSE(is_signed(a.certificate, "what a said", signature));
    EXPECT_FALSE(is_signed(b.certificate, "what a says", signature));
    EXPECT_FALSE(is_signed("nothing", "what a says", signature));
    EXPECT_FALSE(is_signed(a.certificate, "what a says", ""));
    EXPECT_NO_THROW(check_certificate(a.certificate, authority.certificate, std::time(nullptr), "a"));
    EXPECT_THROW(check_certificate(a.certificate, make_authority("f").certificate, std::time(nullptr), "a"),
                 InputError);
    EXPECT_THROW(check_certificate(a.certificate, authority.certificate, std::time(nullptr) + 900LL * 86400, "a"),
                 InputError);
}

TEST(CertificatesTest, ARequestIsForItsOwnersKey) {
    const KeyRequest made = make_request("a");
    const RequestInfo info = read_request(made.request, "request");
    EXPECT_EQ(info.name, "a");
    EXPECT_EQ(info.fingerprint, key_fingerprint(made.key));
    EXPECT_EQ(info.fingerprint.size(), 64U);
    const KeyPair authority = make_authority("f");
    const std::string certificate = sign_request(authority, made.request, {"f", Role::client, "a"}, {}, "request");
    EXPECT_NO_THROW(check_key_pair({made.key, certificate}, authority.certificate, std::time(nullptr), "a"));
    EXPECT_EQ(read_certificate(certificate, "a").identity, (Identity{"f", Role::client, "a"}));
    EXPECT_THROW(read_request("nothing", "request"), InputError);
    EXPECT_THROW(read_request(certificate, "request"), InputError);
    EXPECT_THROW(read_request(make_request("../x").request, "request"), InputError);
}

}  // namespace
}  // namespace couplet::net
