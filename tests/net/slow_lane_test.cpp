#include "slow_lane.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(SlowLaneTest, OnlyWhoWasCaughtIsReadSlowly) {
    SlowLane lane(1h, 2h);
    lane.wait(1);  // or the test hangs
    lane.put(1);
    lane.wait(0);
    std::promise<void> begun;
    auto reader = std::async(std::launch::async, [&] {
        begun.set_value();
        lane.wait(1);
    });
    begun.get_future().wait();
    EXPECT_EQ(reader.wait_for(50ms), std::future_status::timeout);
    lane.close();
    reader.get();
    lane.wait(1);  // nobody waits any more
}

TEST(SlowLaneTest, WhoeverIsNotCaughtAgainIsReadAsBefore) {
    SlowLane lane(1h, 20ms);
    lane.put(1);
    std::this_thread::sleep_for(30ms);
    lane.wait(1);  // or the test hangs
    lane.wait(1);
}

}  // namespace
}  // namespace couplet::net
