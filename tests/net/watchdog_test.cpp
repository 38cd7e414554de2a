#include "watchdog.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(WatchdogTest, BarksOnceWhenTimeIsUpAndNotAfterDisarming) {
    Watchdog dog;
    std::promise<void> barked;
    std::atomic<int> barks{0};
    int key = 0;
    int other = 0;
    dog.arm(&other, 10ms, [&] { barks += 100; });
    dog.disarm(&other);
    dog.arm(&key, 20ms, [&] {
        ++barks;
        barked.set_value();
    });
    EXPECT_EQ(barked.get_future().wait_for(10s), std::future_status::ready);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(barks, 1);
    dog.arm(&key, 1h, [&] { ++barks; });
}

}  // namespace
}  // namespace couplet::net
