#include "kit_lock.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class KitLockTest : public NetTest {};

TEST_F(KitLockTest, IsHeldByOneAndGivenBack) {
    Kit kit;
    kit.folder = path("");
    {
        const KitLock first(kit);
        EXPECT_NE(complaint([&] { const KitLock second(kit); }).find("another coordinator runs on this kit"),
                  std::string::npos);
    }
    EXPECT_NO_THROW(const KitLock third(kit));
    kit.folder = path("nowhere");
    EXPECT_NE(complaint([&] { const KitLock none(kit); }).find("lock"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
