#include "couplet/tensor/buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Buffer, ALargeBlockIsUsedAgain) {
    const char* memory = nullptr;
    {
        Buffer<char> first(64 * mebibyte);
        memory = first.data();
    }
    EXPECT_EQ(kept_memory(), std::size_t{64} << 20);
    const Buffer<char> second(60 * mebibyte);
    EXPECT_EQ(second.data(), memory);
    EXPECT_EQ(kept_memory(), 0U);
}

TEST(Buffer, WhatNobodyWantsIsLetGo) {
    { const Buffer<char> first(64 * mebibyte); }
    { const Buffer<char> other(16 * mebibyte); }
    EXPECT_EQ(kept_memory(), std::size_t{16} << 20) << "what is kept and what is used were never more together";
    { const Buffer<char> huge(512 * mebibyte); }
    EXPECT_EQ(kept_memory(), 0U) << "more than is ever kept";
    { const Buffer<char> small(mebibyte); }
    EXPECT_EQ(kept_memory(), 0U) << "the allocator keeps small ones";
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Buffer, BlocksThatWereUsedTogetherAreAllUsedAgain) {
    { const Buffer<char> huge(512 * mebibyte); }  // nothing is kept from before
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
    EXPECT_EQ(kept_memory(), std::size_t{73} << 20);
    EXPECT_EQ(work(), once);
    const Buffer<char> other(30 * mebibyte);
    EXPECT_EQ(kept_memory(), std::size_t{24} << 20) << "the largest goes for a size that is not there";
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
