#include "notary.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class NotaryTest : public NetTest {
  protected:
    NotaryTest() { provision_star(path("kits"), {"127.0.0.1:1", {"a", "b", "c"}, 30}, true); }
    Notary notary(const std::string& name) const {
        const Kit kit = load_kit(path("kits") / name);
        return make_notary(kit, load_credentials(kit, name == "coordinator" ? Role::coordinator : Role::client));
    }
    static Bytes bytes(const std::string& text) {
        return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
    }
};

TEST_F(NotaryTest, SignaturesAreThoseOfTheCertificatesOwner) {
    const Notary a = notary("a");
    const Notary b = notary("b");
    EXPECT_EQ(b.name_of(a.certificate), "a");
    const Signature signature = a.sign(bytes("these keys"));
    EXPECT_TRUE(b.verify(a.certificate, bytes("these keys"), signature));
    EXPECT_FALSE(b.verify(a.certificate, bytes("other keys"), signature));
    EXPECT_FALSE(b.verify(b.certificate, bytes("these keys"), signature));
    EXPECT_FALSE(b.verify(a.certificate, bytes("these keys"), {}));
}

TEST_F(NotaryTest, CertificatesThatDoNotCountAreNamed) {
    const Notary a = notary("a");
    EXPECT_NE(complaint([&] { a.name_of("nothing"); }).find("certificate of a client"), std::string::npos);
    EXPECT_NE(complaint([&] { a.name_of(notary("coordinator").certificate); }).find("a client of this federation"),
              std::string::npos);
    provision_star(path("others"), {"127.0.0.1:1", {"b", "c", "d"}, 30}, true);
    const std::string stranger = read_text(path("others") / "b" / "cert.pem");
    EXPECT_NE(complaint([&] { a.name_of(stranger); }), "");
    // A client whose certificate was revoked is nobody.
    const std::string serial = read_certificate(notary("b").certificate, "b").serial;
    write_text(path("kits") / "a" / "revoked.txt", serial + "\n");
    EXPECT_NE(complaint([&] { notary("a").name_of(notary("b").certificate); }).find("revoked"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
