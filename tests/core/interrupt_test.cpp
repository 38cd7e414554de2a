#include "couplet/core/interrupt.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

constexpr std::int64_t many = 1'000'000'000;

TEST(Interrupt, NothingStopsOutsideOfAScope) {
    EXPECT_EQ(current_stop(), nullptr);
    EXPECT_NO_THROW(check_stop());
}

TEST(Interrupt, ScopesNestAndTheInnerOneCounts) {
    std::stop_source outer;
    std::stop_source inner;
    const StopScope first(outer.get_token());
    outer.request_stop();
    {
        const StopScope second(inner.get_token());
        EXPECT_NO_THROW(check_stop());
        inner.request_stop();
        EXPECT_THROW(check_stop(), Stopped);
    }
    EXPECT_THROW(check_stop(), Stopped);
}

TEST(Interrupt, AScopeIsOfItsThreadAlone) {
    std::stop_source source;
    source.request_stop();
    const StopScope scope(source.get_token());
    bool stopped = false;
    std::thread([&] { stopped = current_stop() != nullptr; }).join();
    EXPECT_FALSE(stopped);
}

/// A loop that would take for ever ends when it is asked to, on one thread and on several. Bodies that come after the
/// one that asks wait for it: whoever counts to a hundred may lose its core before it says so.
TEST(Interrupt, ALoopEndsWhenItIsAskedTo) {
    const int before = thread_count();
    for (const int threads : {1, 3}) {
        set_thread_count(threads);
        std::stop_source source;
        const StopScope scope(source.get_token());
        std::atomic<std::int64_t> ran{0};
        const auto body = [&](std::int64_t) {
            const auto mine = ++ran;
            if (mine == 100) source.request_stop();
            while (mine > 100 && !source.stop_requested()) std::this_thread::yield();
        };
        EXPECT_THROW(parallel_for(many, body), Stopped) << threads;
        EXPECT_GE(ran, 100);
        EXPECT_LT(ran, 100 + threads);
    }
    set_thread_count(before);
}

/// Helpers work under the scope of whoever started the loop: the loops inside their bodies end too.
TEST(Interrupt, ALoopInsideABodyEndsToo) {
    const int before = thread_count();
    set_thread_count(2);
    std::stop_source source;
    const StopScope scope(source.get_token());
    std::atomic<int> under_way{0};
    EXPECT_THROW(parallel_for(2,
                              [&](std::int64_t) {
                                  if (++under_way == 2) source.request_stop();
                                  parallel_for(many, [](std::int64_t) {});
                              }),
                 Stopped);
    set_thread_count(before);
    EXPECT_EQ(under_way, 2);
}

TEST(Interrupt, StoppedIsAnErrorOfTheRun) {
    EXPECT_EQ(std::string(Stopped().what()), "computation: stopped on request");
}

}  // namespace
}  // namespace couplet
