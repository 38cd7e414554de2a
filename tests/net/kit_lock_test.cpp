#include "kit_lock.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class KitLockTest : public NetTest {};

TEST_F(KitLockTest, IsHeldByOneAndGivenBack) {
    Kit kit;
    kit.folder = path("");
    kit.identity.role = Role::coordinator;
    EXPECT_FALSE(is_in_use(kit));
    {
        const FileLock first = lock_kit(kit);
        EXPECT_TRUE(is_in_use(kit));
        EXPECT_EQ(
            complaint([&] { lock_kit(kit); }),
            kit.folder.string() +
                ": another coordinator runs on this kit; expected one at a time. Wait for it to end, or stop it.");
        EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path("lock")).permissions()), 0600U);
    }
    EXPECT_FALSE(is_in_use(kit));
    kit.identity.role = Role::peer;
    const FileLock third = lock_kit(kit);
    EXPECT_NE(complaint([&] { lock_kit(kit); }).find("another peer runs on this kit"), std::string::npos);
    kit.folder = path("nowhere");
    EXPECT_NE(complaint([&] { lock_kit(kit); }).find("lock"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
