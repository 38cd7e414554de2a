#include "couplet/net/certificates.hpp"

#include <ctime>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

const Identity hospital{"fed1", Role::client, "hospital-a"};

TEST(CertificatesTest, AnIdentityIsReadBackFromItsUri) {
    EXPECT_EQ(to_uri(hospital), "couplet://fed1/client/hospital-a");
    EXPECT_EQ(parse_uri(to_uri(hospital)), hospital);
    for (const char* bad : {"", "couplet://", "couplet:///client/a", "couplet://f/king/a", "couplet://f/client/",
                            "couplet://f/client/A", "couplet://f/client/a/b", "http://f/client/a"}) {
        EXPECT_FALSE(parse_uri(bad)) << bad;
    }
}

TEST(CertificatesTest, NamesAreRestricted) {
    for (const char* good : {"a", "hospital-a", "h1.x_y", "0"}) EXPECT_NO_THROW(require_party_name(good, "x")) << good;
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

TEST(CertificatesTest, PairsThatCannotBeUsedAreRefused) {
    const KeyPair authority = make_authority("fed1");
    const KeyPair other = make_authority("fed1");
    const KeyPair pair = issue_certificate(authority, hospital);
    const KeyPair second = issue_certificate(authority, hospital);
    const std::int64_t now = std::time(nullptr);
    const auto refused = [&](const KeyPair& p, const std::string& ca, std::int64_t time) {
        return complaint([&] { check_key_pair(p, ca, time, "cert.pem"); });
    };
    EXPECT_NE(refused(pair, other.certificate, now).find("another authority"), std::string::npos);
    EXPECT_NE(refused({second.key, pair.certificate}, authority.certificate, now).find("key"), std::string::npos);
    EXPECT_NE(refused(pair, authority.certificate, now + 1000L * 86400).find("expired on"), std::string::npos);
    EXPECT_NE(refused(pair, authority.certificate, now - 1000L * 86400).find("not valid before"), std::string::npos);
    EXPECT_THROW(issue_certificate({"", ""}, hospital), InputError);
}

TEST(CertificatesTest, RandomDigitsDiffer) {
    EXPECT_EQ(random_hex().size(), 32U);
    EXPECT_NE(random_hex(), random_hex());
}

}  // namespace
}  // namespace couplet::net
