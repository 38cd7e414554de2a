#include "couplet/io/folder_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "couplet/core/error.hpp"
#include "io_test_support.hpp"

namespace couplet::testing {
namespace {

using FolderLockTest = IoTest;

TEST_F(FolderLockTest, IsForOneAtATime) {
    std::optional<FolderLock> first(std::in_place, path(""));
    try {
        const FolderLock second(path(""));
        FAIL() << "two writers";
    } catch (const RunError& error) {
        EXPECT_EQ(error.parts().found, "a folder that another run is writing to");
    }
    first.reset();
    EXPECT_NO_THROW(FolderLock(path("")));
    EXPECT_TRUE(std::filesystem::is_empty(path("")));
}

TEST_F(FolderLockTest, EndsWithTheProcess) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const FolderLock held(path(""));
        if (::write(ready[1], "x", 1) == 1) ::pause();
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_THROW(FolderLock(path("")), RunError);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_NO_THROW(FolderLock(path("")));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(FolderLockTest, WithoutALockTheWorkGoesOn) { EXPECT_NO_THROW(FolderLock(path("nothing here"))); }

}  // namespace
}  // namespace couplet::testing
