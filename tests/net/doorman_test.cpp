#include "doorman.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class DoormanTest : public NetTest {};

TEST_F(DoormanTest, LetsInPartiesOfItsFederationInTheirRole) {
    const Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const CertificateInfo good{{"fed1", Role::client, "a"}, "AB", 0, 0};
    EXPECT_NO_THROW(doorman.let_in(good, Role::client));
    EXPECT_NE(complaint([&] { doorman.let_in(good, Role::coordinator); }).find("role client"), std::string::npos);
    const CertificateInfo foreign{{"fed2", Role::client, "a"}, "AB", 0, 0};
    EXPECT_NE(complaint([&] { doorman.let_in(foreign, Role::client); }).find("another federation"), std::string::npos);
    write_text(path("revoked.txt"), "AB a\n");
    EXPECT_NE(complaint([&] { doorman.let_in(good, Role::client); }).find("revoked"), std::string::npos);
}

TEST_F(DoormanTest, LimitsHowOftenSomebodyCalls) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const Doorman::Clock::time_point start;
    int calls = 0;
    while (complaint([&] { doorman.limit_rate("a", start); }).empty()) ++calls;
    EXPECT_EQ(calls, 100);
    EXPECT_NO_THROW(doorman.limit_rate("a 2", start)) << "each has its own share";
    EXPECT_NO_THROW(doorman.limit_rate("a", start + 1s)) << "and gets it back";
}

}  // namespace
}  // namespace couplet::net
