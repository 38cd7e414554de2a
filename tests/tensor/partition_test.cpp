#include "couplet/tensor/partition.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

void expect_whole(const Partition& parts, Index size) {
    Index at = 0;
    for (Index p = 0; p < parts.count(); ++p) {
        EXPECT_EQ(parts.begin(p), at);
        EXPECT_EQ(parts.end(p) - parts.begin(p), parts.length(p));
        at = parts.end(p);
    }
    EXPECT_EQ(at, size);
}

TEST(Partition, BlocksAreOfOneLengthButTheLast) {
    for (const Index size : {1, 2, 511, 512, 513, 1024, 5003}) {
        for (const Index length : {1, 7, 512, 10000}) {
            const auto blocks = Partition::blocks(size, length);
            expect_whole(blocks, size);
            for (Index p = 0; p + 1 < blocks.count(); ++p) EXPECT_EQ(blocks.length(p), length);
            EXPECT_GE(blocks.length(blocks.count() - 1), 1);
            EXPECT_LE(blocks.length(blocks.count() - 1), length);
        }
    }
}

TEST(Partition, BlocksOfNothingAreNone) { EXPECT_EQ(Partition::blocks(0, 512).count(), 0); }

TEST(Partition, EvenPartsDifferByAtMostOne) {
    for (const Index size : {1, 2, 10, 31, 1000}) {
        for (const Index wanted : {1, 3, 8, 64}) {
            const auto parts = Partition::even(size, wanted);
            EXPECT_EQ(parts.count(), std::min(size, wanted));
            expect_whole(parts, size);
            for (Index p = 0; p < parts.count(); ++p) {
                EXPECT_GE(parts.length(p), size / parts.count());
                EXPECT_LE(parts.length(p), size / parts.count() + 1);
            }
        }
    }
}

TEST(Partition, CutsLieOnTheGrain) {
    const auto parts = Partition::even(1001, 5, 16);
    EXPECT_EQ(parts.count(), 5);
    expect_whole(parts, 1001);
    for (Index p = 0; p < parts.count(); ++p) EXPECT_EQ(parts.begin(p) % 16, 0);
    EXPECT_EQ(Partition::even(40, 5, 16).count(), 2) << "none is shorter than the grain";
}

TEST(Partition, ThereIsAlwaysOneEvenPart) {
    for (const Index wanted : {-3, 0, 1}) EXPECT_EQ(Partition::even(100, wanted).count(), 1);
    EXPECT_EQ(Partition::even(0, 4).count(), 1);
    EXPECT_EQ(Partition::even(0, 4).length(0), 0);
}

}  // namespace
}  // namespace couplet
