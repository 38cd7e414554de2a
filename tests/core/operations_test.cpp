#include "couplet/core/operations.hpp"

#include <gtest/gtest.h>

#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

TEST(Operations, EveryThreadAddsToOneCount) {
    const double before = operations_counted();
    parallel_for(1000, [](std::int64_t) { count_operations(3); });
    EXPECT_EQ(operations_counted() - before, 3000);
}

TEST(Operations, CountsBeyondThirtyTwoBits) {
    const double before = operations_counted();
    count_operations(5e12);
    EXPECT_EQ(operations_counted() - before, 5e12);
}

}  // namespace
}  // namespace couplet
