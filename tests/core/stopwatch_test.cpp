#include "couplet/core/stopwatch.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

/// Passes some time, however fast the clock's ticks are.
void pass_time() {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() == begin) {
    }
}

TEST(Stopwatch, AddsTheSecondsOfItsLife) {
    double seconds = 10;
    {
        const Stopwatch watch(seconds);
        pass_time();
        EXPECT_EQ(seconds, 10) << "it is not over yet";
    }
    const double once = seconds;
    EXPECT_GT(once, 10);
    {
        const Stopwatch watch(seconds);
        pass_time();
    }
    EXPECT_GT(seconds, once);
}

TEST(Stopwatch, LapsDoNotOverlap) {
    double life = 0;
    double laps = 0;
    {
        Stopwatch watch(life);
        for (int i = 0; i < 3; ++i) {
            pass_time();
            const double lap = watch.lap();
            EXPECT_GT(lap, 0);
            laps += lap;
        }
    }
    EXPECT_GE(life + 1e-12, laps);
}

}  // namespace
}  // namespace couplet
