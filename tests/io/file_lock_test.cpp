#include "couplet/io/file_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "io_test_support.hpp"

namespace couplet::testing {
namespace {

using FileLockTest = IoTest;

TEST_F(FileLockTest, IsWaitedFor) {
    int inside = 0;
    std::atomic<bool> alone = true;
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                const FileLock lock(path("lock"));
                if (++inside != 1) alone = false;
                --inside;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(alone);
}

TEST_F(FileLockTest, WhoeverDoesNotWaitIsToldAsAsked) {
    const LockOptions at_once{.held = ErrorParts{"the kit", "another runs", "one", "Wait."}};
    EXPECT_FALSE(FileLock::is_held(path("lock")));
    {
        const FileLock first(path("lock"), at_once);
        EXPECT_TRUE(FileLock::is_held(path("lock")));
        try {
            const FileLock second(path("lock"), at_once);
            FAIL() << "two have it";
        } catch (const RunError& error) {
            EXPECT_EQ(error.parts().where, "the kit");
            EXPECT_EQ(error.parts().found, "another runs");
        }
        EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path("lock")).permissions()), 0600U);
    }
    EXPECT_FALSE(FileLock::is_held(path("lock")));
    EXPECT_NO_THROW(FileLock(path("lock"), at_once));
}

TEST_F(FileLockTest, SaysWhereItCannotBe) {
    try {
        FileLock(path("none/lock"));
        FAIL() << "a lock in no folder";
    } catch (const RunError& error) {
        EXPECT_EQ(error.parts().where, path("none/lock"));
        EXPECT_EQ(error.parts().found, "No such file or directory");
    }
    EXPECT_THROW(FileLock(path("none"), {.make = false}), RunError) << "nothing is made";
    EXPECT_FALSE(std::filesystem::exists(path("none")));
    EXPECT_NO_THROW(FileLock(path("none/lock"), {.required = false}));
}

TEST_F(FileLockTest, AFolderHasOneWriter) {
    {
        const FileLock first = lock_folder(path(""));
        try {
            const FileLock second = lock_folder(path(""));
            FAIL() << "two writers";
        } catch (const RunError& error) {
            EXPECT_EQ(error.parts().found, "a folder that another run is writing to");
        }
    }
    EXPECT_NO_THROW(lock_folder(path("")));
    EXPECT_TRUE(std::filesystem::is_empty(path("")));
    EXPECT_NO_THROW(lock_folder(path("nothing here"))) << "without a lock the work goes on";
}

TEST_F(FileLockTest, EndsWithTheProcess) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const FileLock held = lock_folder(path(""));
        if (::write(ready[1], "x", 1) == 1) ::pause();
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_THROW(lock_folder(path("")), RunError);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_NO_THROW(lock_folder(path("")));
    ::close(ready[0]);
    ::close(ready[1]);
}

}  // namespace
}  // namespace couplet::testing
