#include "connection.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class ConnectionTest : public NetTest {};

TEST_F(ConnectionTest, NobodyThereIsAReasonAndNoError) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    Connection connection(make_target(federation.kit("a"), Role::client, false), {});
    EXPECT_FALSE(connection.open());
    EXPECT_NE(connection.reason(), "");
}

TEST_F(ConnectionTest, OpensToTheCoordinatorOfItsFederationOnly) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    const TestFederation other(path("other"), population(1, {6, 4}, 2));
    Log log({}, {});
    const Coordinator coordinator(federation.coordinator(), job_options({.rank = 2}), log);
    Connection good(make_target(federation.kit("a"), Role::client, false), {});
    EXPECT_TRUE(good.open());
    Target lost = make_target(other.kit("a"), Role::client, false);
    lost.address = federation.kit("a").coordinator;
    Connection bad(lost, {});
    EXPECT_FALSE(bad.open());
}

/// A stolen key is as good as its owner's until the list says otherwise.
TEST_F(ConnectionTest, ARevokedCoordinatorIsSentNothing) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    Log log({}, {});
    const Kit stolen = federation.coordinator();
    const Coordinator coordinator(stolen, job_options({.rank = 2}), log);
    const Target target = make_target(federation.kit("a"), Role::client, false);
    Connection before(target, {});
    ASSERT_TRUE(before.open());
    EXPECT_NO_THROW(before.require_unrevoked());
    rotate(federation.kits, "coordinator", 30);
    Connection after(target, {});
    const std::string said = complaint([&] { after.open(); });
    EXPECT_NE(said.find("a coordinator's certificate that was revoked"), std::string::npos) << said;
    EXPECT_EQ(complaint([&] { before.require_unrevoked(); }), said) << "what was open before";
    EXPECT_EQ(complaint([&] { fetch_status(federation.kit("a"), false, 10min); }), said);
    EXPECT_NE(complaint([&] { attend(federation, 0); }).find("revoked"), std::string::npos);
}

TEST_F(ConnectionTest, WithoutTlsOnlyThisMachine) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    Kit kit = federation.kit("a");
    EXPECT_FALSE(make_target(kit, Role::client, true).credentials);
    for (const char* elsewhere : {"host.example:1", "127.evil.example:1"}) {
        kit.coordinator = elsewhere;
        EXPECT_THROW(make_target(kit, Role::client, true), InputError);
    }
}

}  // namespace
}  // namespace couplet::net
