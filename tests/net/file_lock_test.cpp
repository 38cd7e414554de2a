#include "file_lock.hpp"

#include <atomic>
#include <thread>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using FileLockTest = NetTest;

TEST_F(FileLockTest, OneHoldsItAtATime) {
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

TEST_F(FileLockTest, SaysWhereItCannotBe) {
    EXPECT_NE(complaint([&] { FileLock(path("none/lock")); }).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
