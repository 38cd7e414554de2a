#include "couplet/core/operations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <optional>
#include <thread>

#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

class Operations : public ::testing::Test {
  protected:
    ~Operations() override { set_thread_count(before_); }

  private:
    int before_ = thread_count();
};

TEST_F(Operations, HelpersOfALoopCountForItsOwner) {
    for (const int threads : {1, 4}) {
        set_thread_count(threads);
        const OperationCount count;
        std::atomic<int> helped{0};
        const auto owner = std::this_thread::get_id();
        parallel_for(1000, [&](std::int64_t) {
            if (std::this_thread::get_id() != owner) ++helped;
            // As long as nobody has helped, helpers get time to come.
            for (int i = 0; threads > 1 && helped == 0 && i < 10000; ++i) std::this_thread::yield();
            count_operations(3);
        });
        EXPECT_EQ(count.total(), 3000) << threads;
        EXPECT_EQ(helped > 0, threads > 1);
    }
}

TEST_F(Operations, LoopsInsideBodiesCountForTheSameOwner) {
    set_thread_count(4);
    const OperationCount count;
    parallel_for(10, [](std::int64_t) { parallel_for(100, [](std::int64_t) { count_operations(1); }); });
    EXPECT_EQ(count.total(), 1000);
}

/// Two runs in one process, side by side and with loops that share the helpers.
TEST_F(Operations, TwoThreadsCountSeparately) {
    set_thread_count(3);
    double totals[2] = {};
    std::barrier both(2);
    const auto run = [&](int which) {
        const OperationCount count;
        both.arrive_and_wait();
        for (int repeat = 0; repeat < 50; ++repeat) {
            parallel_for(20, [&](std::int64_t) { count_operations(which == 0 ? 1 : 1000); });
        }
        both.arrive_and_wait();
        totals[which] = count.total();
    };
    const OperationCount outside;
    std::thread first(run, 0);
    std::thread second(run, 1);
    first.join();
    second.join();
    EXPECT_EQ(totals[0], 1000);
    EXPECT_EQ(totals[1], 1'000'000);
    EXPECT_EQ(outside.total(), 0) << "nobody lent it to them";
}

/// A helper is nobody's once it has left a loop.
TEST_F(Operations, NothingIsCountedAfterItsLife) {
    set_thread_count(2);
    EXPECT_EQ(current_count(), nullptr);
    std::optional<OperationCount> count(std::in_place);
    EXPECT_EQ(current_count(), &*count);
    parallel_for(100, [](std::int64_t) { count_operations(1); });
    EXPECT_EQ(count->total(), 100);
    count.reset();
    EXPECT_EQ(current_count(), nullptr);
    parallel_for(100, [](std::int64_t) {
        EXPECT_EQ(current_count(), nullptr);
        count_operations(1);
    });
}

TEST_F(Operations, OneInsideAnotherCountsForBoth) {
    const OperationCount outer;
    count_operations(1);
    {
        const OperationCount inner;
        count_operations(10);
        EXPECT_EQ(inner.total(), 10);
        EXPECT_EQ(outer.total(), 11);
    }
    count_operations(100);
    EXPECT_EQ(outer.total(), 111);
}

TEST_F(Operations, CountsBeyondThirtyTwoBits) {
    const OperationCount count;
    count_operations(5e12);
    EXPECT_EQ(count.total(), 5e12);
}

}  // namespace
}  // namespace couplet
