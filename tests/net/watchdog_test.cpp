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
    const auto time = at_ease(500ms);  // nobody is kept from disarming for so long
    dog.arm(&other, time, [&] { barks += 100; });
    dog.disarm(&other);
    dog.arm(&key, time + 20ms, [&] {
        ++barks;
        barked.set_value();
    });
    barked.get_future().wait();
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(barks, 1);
    dog.arm(&key, 1h, [&] { ++barks; });
}

}  // namespace
}  // namespace couplet::net
