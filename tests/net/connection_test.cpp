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

TEST_F(ConnectionTest, WithoutTlsOnlyThisMachine) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    Kit kit = federation.kit("a");
    EXPECT_FALSE(make_target(kit, Role::client, true).credentials);
    kit.coordinator = "host.example:1";
    EXPECT_THROW(make_target(kit, Role::client, true), InputError);
}

}  // namespace
}  // namespace couplet::net
