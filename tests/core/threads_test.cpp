#include "couplet/core/threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// Sets the thread count for one scope.
class WithThreads {
  public:
    explicit WithThreads(int count) : before_(thread_count()) { set_thread_count(count); }
    ~WithThreads() { set_thread_count(before_); }
    WithThreads(const WithThreads&) = delete;
    WithThreads& operator=(const WithThreads&) = delete;

  private:
    int before_;
};

constexpr int counts[] = {1, 2, 3, 8};

TEST(Threads, CountStartsAtWhatTheProcessMayUse) {
    EXPECT_GE(thread_count(), 1);
    EXPECT_LE(thread_count(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

TEST(ThreadsDeathTest, CountStartsAtTheCoresThatTheProcessMayRunOn) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own, where nobody has counted yet
    EXPECT_EXIT(
        {
            cpu_set_t all;
            cpu_set_t first;
            CPU_ZERO(&first);
            sched_getaffinity(0, sizeof all, &all);
            int core = 0;
            while (!CPU_ISSET(core, &all)) ++core;
            CPU_SET(core, &first);
            sched_setaffinity(0, sizeof first, &first);
            std::_Exit(thread_count());
        },
        ::testing::ExitedWithCode(1), "");
}

TEST(Threads, BothEndsOfTheRangeAreAccepted) {
    const WithThreads scope(1);
    EXPECT_EQ(thread_count(), 1);
    set_thread_count(1024);
    EXPECT_EQ(thread_count(), 1024);
}

TEST(Threads, CountOutsideItsRangeIsRefusedAndChangesNothing) {
    const WithThreads threads(3);
    for (const int bad : {0, -1, 1025}) EXPECT_THROW(set_thread_count(bad), InputError) << bad;
    EXPECT_EQ(thread_count(), 3);
    try {
        set_thread_count(0);
        FAIL() << "0 threads were accepted";
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "threads: 0; expected a number from 1 to 1024. Leave it out to use every core.");
    }
}

TEST(ParallelFor, RunsEveryIndexExactlyOnce) {
    for (const int threads : counts) {
        const WithThreads scope(threads);
        for (const std::int64_t tasks : {0, 1, 2, 7, 8, 9, 1000}) {
            std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
            parallel_for(tasks, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
            for (const auto& count : runs) ASSERT_EQ(count, 1) << threads << " threads, " << tasks << " tasks";
        }
    }
}

TEST(ParallelFor, NegativeTaskCountRunsNothing) {
    int runs = 0;
    parallel_for(-5, [&](std::int64_t) { ++runs; });
    EXPECT_EQ(runs, 0);
}

TEST(ParallelFor, UsesSeveralThreadsButNoMoreThanAsked) {
    const WithThreads scope(3);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::atomic<int> present{0};
    // The first two bodies wait for each other, which only ends if two threads run them.
    parallel_for(64, [&](std::int64_t i) {
        {
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
        }
        if (i < 2) {
            ++present;
            while (present < 2) std::this_thread::yield();
        }
    });
    EXPECT_GE(seen.size(), 2U);
    EXPECT_LE(seen.size(), 3U);
}

TEST(ParallelFor, WorkDoneInTheLoopIsVisibleAfterIt) {
    const WithThreads scope(4);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::int64_t> squares(50, -1);
        parallel_for(50, [&](std::int64_t i) { squares[static_cast<std::size_t>(i)] = i * i; });
        for (std::int64_t i = 0; i < 50; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i);
    }
}

TEST(ParallelFor, ResultDoesNotDependOnTheThreadCount) {
    const auto compute = [](int threads) {
        const WithThreads scope(threads);
        std::vector<double> parts(101);
        parallel_for(101, [&](std::int64_t i) {
            double sum = 0;
            for (int k = 1; k < 200; ++k) sum += std::sin(static_cast<double>(i * k)) / k;
            parts[static_cast<std::size_t>(i)] = sum;
        });
        return parts;
    };
    const auto serial = compute(1);
    for (const int threads : counts) EXPECT_EQ(compute(threads), serial) << threads << " threads";
}

TEST(ParallelFor, NestedLoopsRunEveryPairOnce) {
    const WithThreads scope(4);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> runs(6 * 5 * 3);
        parallel_for(6, [&](std::int64_t i) {
            parallel_for(5, [&](std::int64_t j) {
                parallel_for(3, [&](std::int64_t k) { ++runs[static_cast<std::size_t>((i * 5 + j) * 3 + k)]; });
            });
        });
        for (const auto& count : runs) ASSERT_EQ(count, 1);
    }
}

TEST(ParallelFor, NestedLoopsGetTheThreadsThatAreIdle) {
    const WithThreads scope(6);
    std::atomic<int> present{0};
    // Two bodies with three of their own each: all six are there at once, or this never ends.
    parallel_for(2, [&](std::int64_t) {
        parallel_for(3, [&](std::int64_t) {
            ++present;
            while (present < 6) std::this_thread::yield();
        });
    });
    EXPECT_EQ(present, 6);
}

TEST(ParallelFor, NestedLoopsUseNoMoreThreadsThanAsked) {
    const WithThreads many(8);
    parallel_for(64, [](std::int64_t) {});  // eight are there, three may be used
    const WithThreads few(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    parallel_for(2, [&](std::int64_t) {
        parallel_for(6, [&](std::int64_t) {
            const int now = ++inside;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            --inside;
        });
    });
    EXPECT_LE(most, 3);
}

/// After a nested loop its body is still inside the outer one.
TEST(ParallelFor, LoopsAfterANestedOneAreNestedToo) {
    const WithThreads scope(2);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    parallel_for(2, [&](std::int64_t) {
        for (int again = 0; again < 3; ++again) {
            parallel_for(4, [&](std::int64_t) {
                const int now = ++inside;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                --inside;
            });
        }
    });
    EXPECT_LE(most, 2);
}

TEST(ParallelFor, TheFirstIndexThatFailsIsTheOneReported) {
    const WithThreads scope(4);
    for (int round = 0; round < 50; ++round) {
        try {
            parallel_for(64, [](std::int64_t i) {
                if (i == 5) std::this_thread::sleep_for(std::chrono::microseconds(200));
                if (i >= 5) throw std::runtime_error(std::to_string(i));
            });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "5");
        }
    }
}

TEST(ParallelFor, RethrowsWhatABodyThrew) {
    for (const int threads : counts) {
        const WithThreads scope(threads);
        try {
            parallel_for(100, [](std::int64_t i) {
                if (i == 37) throw RunError({"body", std::to_string(i), "", ""});
            });
            ADD_FAILURE() << "nothing was thrown with " << threads << " threads";
        } catch (const RunError& error) {
            EXPECT_STREQ(error.what(), "body: 37");
        }
    }
}

TEST(ParallelFor, OfSeveralFailuresTheFirstIndexIsReported) {
    const WithThreads scope(2);
    for (const bool first_is_late : {false, true}) {
        std::atomic<int> begun{0};
        std::atomic<int> failed{0};
        try {
            parallel_for(2, [&](std::int64_t i) {
                ++begun;
                while (begun < 2) std::this_thread::yield();
                const bool late = (i == 0) == first_is_late;
                while (late && failed == 0) std::this_thread::yield();
                if (late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
                ++failed;
                throw RunError({"body", std::to_string(i), "", ""});
            });
            ADD_FAILURE();
        } catch (const RunError& error) {
            EXPECT_STREQ(error.what(), "body: 0");
        }
    }
}

TEST(ParallelFor, StartsNoMoreBodiesAfterAFailure) {
    for (const int threads : counts) {
        const WithThreads scope(threads);
        std::atomic<std::int64_t> started{0};
        constexpr std::int64_t tasks = 1'000'000'000;  // would take minutes if the loop went on
        EXPECT_THROW(parallel_for(tasks,
                                  [&](std::int64_t) {
                                      ++started;
                                      throw std::runtime_error("stop");
                                  }),
                     std::runtime_error);
        EXPECT_GE(started, 1);
        EXPECT_LE(started, threads);
    }
}

TEST(ParallelFor, WorksAfterAFailure) {
    const WithThreads scope(4);
    EXPECT_THROW(parallel_for(8, [](std::int64_t) { throw std::runtime_error("stop"); }), std::runtime_error);
    std::atomic<std::int64_t> sum{0};
    std::atomic<int> nested{0};
    parallel_for(100, [&](std::int64_t i) {
        sum += i;
        parallel_for(2, [&](std::int64_t) { ++nested; });
    });
    EXPECT_EQ(sum, 4950);
    EXPECT_EQ(nested, 200);
}

TEST(ParallelFor, AnExceptionOfANestedLoopReachesTheOuterCaller) {
    const WithThreads scope(3);
    EXPECT_THROW(parallel_for(4,
                              [](std::int64_t) {
                                  parallel_for(4, [](std::int64_t j) {
                                      if (j == 3) throw std::out_of_range("inner");
                                  });
                              }),
                 std::out_of_range);
}

TEST(ParallelFor, ConcurrentCallersEachGetTheirOwnLoop) {
    const WithThreads scope(3);
    constexpr int callers = 6;
    constexpr int rounds = 50;
    std::vector<std::int64_t> sums(callers, 0);
    std::vector<std::thread> threads;
    for (int c = 0; c < callers; ++c) {
        threads.emplace_back([&sums, c] {
            for (int round = 0; round < rounds; ++round) {
                std::vector<std::int64_t> parts(40);
                parallel_for(40, [&](std::int64_t i) { parts[static_cast<std::size_t>(i)] = i * (c + 1); });
                for (const auto part : parts) sums[static_cast<std::size_t>(c)] += part;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (int c = 0; c < callers; ++c) EXPECT_EQ(sums[static_cast<std::size_t>(c)], rounds * 780 * (c + 1));
}

/// Helpers of a larger loop are still there: they must not join a smaller one.
TEST(ParallelFor, HelpersOfALargerLoopStayOutOfASmallerOne) {
    const WithThreads many(8);
    parallel_for(64, [](std::int64_t) {});
    const WithThreads few(2);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    parallel_for(8, [&](std::int64_t) {
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time for others to come in
        --inside;
    });
    EXPECT_LE(most, 2);
}

TEST(ParallelFor, FollowsChangesOfTheThreadCount) {
    for (int round = 0; round < 20; ++round) {
        for (const int threads : {8, 1, 3, 2}) {
            const WithThreads scope(threads);
            std::atomic<int> inside{0};
            std::atomic<int> most{0};
            parallel_for(30, [&](std::int64_t) {
                const int now = ++inside;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
                --inside;
            });
            EXPECT_LE(most, threads);
        }
    }
}

#ifndef __SANITIZE_THREAD__  // which ends a child that starts threads
/// The child has none of the helpers, and may find their locks taken.
TEST(ParallelFor, WorksInAChildThatWasForkedInMidLoop) {
    const WithThreads threads(3);
    std::atomic<bool> done{false};
    std::thread busy([&] {
        while (!done) parallel_for(8, [](std::int64_t) {});
    });
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);  // instead of waiting for ever
            std::atomic<int> sum{0};
            parallel_for(10, [&](std::int64_t i) { sum += static_cast<int>(i); });
            ::_exit(sum == 45 ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << round;
    }
    done = true;
    busy.join();
}
#endif

}  // namespace
}  // namespace couplet
