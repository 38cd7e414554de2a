#include "kit_lock.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class KitLockTest : public NetTest {};

TEST_F(KitLockTest, IsHeldByOneAndGivenBack) {
    Kit kit;
    kit.folder = path("");
    kit.identity.role = Role::coordinator;
    EXPECT_FALSE(KitLock::is_held(kit));
    {
        const KitLock first(kit);
        EXPECT_TRUE(KitLock::is_held(kit));
        EXPECT_EQ(
            complaint([&] { const KitLock second(kit); }),
            kit.folder.string() +
                ": another coordinator runs on this kit; expected one at a time. Wait for it to end, or stop it.");
        EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path("lock")).permissions()), 0600U);
    }
    EXPECT_FALSE(KitLock::is_held(kit));
    kit.identity.role = Role::peer;
    const KitLock third(kit);
    EXPECT_NE(complaint([&] { const KitLock fourth(kit); }).find("another peer runs on this kit"), std::string::npos);
    kit.folder = path("nowhere");
    EXPECT_NE(complaint([&] { const KitLock none(kit); }).find("lock"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
