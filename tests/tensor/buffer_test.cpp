#include "couplet/tensor/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace couplet {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

TEST(Buffer, IsAlignedForEverySize) {
    for (const std::int64_t size : {0, 1, 7, 8, 9, 1000, 1 << 20}) {
        Buffer<float> buffer(size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U) << size;
        EXPECT_EQ(buffer.size(), size);
    }
}

TEST(Buffer, MovingLeavesAnEmptyOne) {
    Buffer<double> a(5);
    double* const memory = a.data();
    Buffer<double> b(std::move(a));
    EXPECT_EQ(b.data(), memory);
    Buffer<double> c(2);
    c = std::move(b);
    EXPECT_EQ(c.data(), memory);
    EXPECT_EQ(c.size(), 5);
    EXPECT_EQ(b.size(), 0);  // NOLINT(bugprone-use-after-move): the state after a move is what is tested
    EXPECT_EQ(b.data(), nullptr);
}

TEST(Buffer, AbsurdSizesThrowInsteadOfWrapping) {
    EXPECT_THROW(Buffer<double>(-1), std::bad_alloc);
    EXPECT_THROW(Buffer<double>{std::numeric_limits<std::int64_t>::max()}, std::bad_alloc);
    EXPECT_THROW(Buffer<double>(std::int64_t{1} << 60), std::bad_alloc);
}

constexpr std::int64_t too_large = 288 * mebibyte;  // to be kept

/// As many blocks of this size as `sum` bytes have room for.
std::vector<Buffer<char>> in_use(std::size_t sum) {
    std::vector<Buffer<char>> pieces;
    while (sum >= pieces.size() * too_large + too_large) pieces.emplace_back(too_large);
    return pieces;
}

TEST(Buffer, SizesThatCannotBeHadAreNeverInUse) {
    const std::size_t before = most_used_memory();
    EXPECT_THROW(Buffer<char>(std::int64_t{1} << 60), std::bad_alloc);
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 1000, SIZE_MAX / 2 + 1, SIZE_MAX / 16 * 15}) {
        EXPECT_THROW(allocate_memory(size), std::bad_alloc) << size;
    }
    EXPECT_EQ(most_used_memory(), before);
    in_use(before + too_large);
    EXPECT_GT(most_used_memory(), before);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// More is in use for a moment than ever was, all of it too large to be kept: nothing is kept after it, and what was
/// once used is a multiple of these blocks.
void let_go_of_everything() { in_use(most_used_memory() + too_large); }

TEST(Buffer, ALargeBlockIsUsedAgainForSizesCloseToItsOwn) {
    let_go_of_everything();
    const char* memory = nullptr;
    {
        Buffer<char> first(64 * mebibyte);
        memory = first.data();
    }
    EXPECT_EQ(kept_memory(), std::size_t{64} << 20);
    for (const std::int64_t size : {64 * mebibyte, 60 * mebibyte + 1, 63 * mebibyte}) {
        const Buffer<char> second(size);
        EXPECT_EQ(second.data(), memory) << size;
        EXPECT_EQ(kept_memory(), 0U);
    }
    EXPECT_EQ(kept_memory(), std::size_t{64} << 20) << "nothing of it is lost to a smaller size";
    const Buffer<char> small(60 * mebibyte);
    EXPECT_NE(small.data(), memory);
}

TEST(Buffer, OnlyLargeBlocksAreKeptAndNotTheLargest) {
    let_go_of_everything();
    EXPECT_EQ(kept_memory(), 0U);
    { const Buffer<char> huge(512 * mebibyte); }
    EXPECT_EQ(kept_memory(), 0U) << "more than is ever kept";
    { const Buffer<char> small(mebibyte); }
    EXPECT_EQ(kept_memory(), 0U) << "the allocator keeps small ones";
}

TEST(Buffer, BlocksOfManySizesAreAllUsedAgain) {
    let_go_of_everything();
    const auto work = [] {
        std::vector<const char*> memory;
        const Buffer<char> first(12 * mebibyte);
        const Buffer<char> second(12 * mebibyte);
        const Buffer<char> both(49 * mebibyte);
        for (const auto* buffer : {&first, &second, &both}) memory.push_back(buffer->data());
        std::ranges::sort(memory);
        return memory;
    };
    const auto once = work();
    EXPECT_EQ(kept_memory(), std::size_t{76} << 20);
    { const Buffer<char> other(30 * mebibyte); }
    EXPECT_EQ(work(), once) << "a size that is not there costs the others nothing while less is used than once was";
}

TEST(Buffer, TheOldestMakeRoomForWhatIsWantedNow) {
    in_use(4 * too_large);  // from now on nothing is let go of because much is used
    let_go_of_everything();
    const auto use_together = [](std::size_t count, std::int64_t size) {
        std::vector<Buffer<char>> together;
        while (together.size() < count) together.emplace_back(size * mebibyte);
    };
    const auto is_used_again = [](std::int64_t size) {
        const char* memory = Buffer<char>(size * mebibyte).data();
        return Buffer<char>(size * mebibyte).data() == memory;
    };
    use_together(16, 4);
    EXPECT_EQ(kept_memory(), std::size_t{16 * 4} << 20) << "as many blocks as are ever kept";
    EXPECT_TRUE(is_used_again(48));
    EXPECT_EQ(kept_memory(), std::size_t{15 * 4 + 48} << 20);
    use_together(2, 104);
    EXPECT_EQ(kept_memory(), std::size_t{48 + 2 * 104} << 20) << "256 MiB: all of 4 MiB are older";
    EXPECT_TRUE(is_used_again(160));
    EXPECT_EQ(kept_memory(), std::size_t{160} << 20);
}

TEST(Buffer, UsedAndKeptAreTogetherNeverMoreThanWasOnceUsed) {
    let_go_of_everything();
    const auto most = most_used_memory();
    for (const std::int64_t size : {48, 6, 100, 10}) {
        const Buffer<char> kept(size * mebibyte);
    }
    EXPECT_EQ(kept_memory(), std::size_t{48 + 6 + 104 + 10} << 20);
    const auto almost = in_use(most - too_large);
    EXPECT_EQ(kept_memory(), std::size_t{48 + 6 + 104 + 10} << 20) << "there is room for all";
    {
        const Buffer<char> much(too_large - 128 * mebibyte);
        EXPECT_EQ(kept_memory(), std::size_t{6 + 104 + 10} << 20) << "40 too many: the smallest that is enough goes";
    }
    const Buffer<char> all(too_large);
    EXPECT_EQ(kept_memory(), 0U);
    EXPECT_EQ(most_used_memory(), most);
}
#endif

TEST(Buffer, ThreadsDoNotShareABlock) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t, &wrong] {
            for (int i = 0; i < 50; ++i) {
                Buffer<int> own(2 * mebibyte);
                for (std::int64_t j = 0; j < own.size(); j += 4096) own.data()[j] = t;
                for (std::int64_t j = 0; j < own.size(); j += 4096) wrong += own.data()[j] != t;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace couplet
