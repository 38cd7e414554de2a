#include "credentials.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class CredentialsTest : public NetTest {};

TEST_F(CredentialsTest, BothSidesShowACertificate) {
    provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, false);
    const Credentials lead = load_credentials(load_kit(path("kits/coordinator")), Role::coordinator);
    const Credentials client = load_credentials(load_kit(path("kits/a")), Role::client);
    EXPECT_NE(server_credentials(lead, [](const CertificateInfo&) { return true; }), nullptr);
    EXPECT_NE(channel_credentials(client), nullptr);
    EXPECT_EQ(client.info.identity.name, "a");
}

}  // namespace
}  // namespace couplet::net
