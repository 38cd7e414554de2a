#include "couplet/net/backoff.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(BackoffTest, DoublesUpToItsMostWithJitter) {
    Backoff backoff(100ms, 1000ms, 7);
    for (const int whole : {100, 200, 400, 800, 1000, 1000}) {
        const auto wait = backoff.next();
        EXPECT_GE(wait.count(), whole / 2);
        EXPECT_LE(wait.count(), whole);
    }
    backoff.reset();
    EXPECT_LE(backoff.next(), 100ms);
    Backoff many(100ms, 100ms, 3);
    double sum = 0;
    for (int i = 0; i < 2000; ++i) sum += static_cast<double>(many.next().count());
    EXPECT_NEAR(sum / 2000, 75, 3) << "evenly between half and the whole";
}

TEST(BackoffTest, ClientsDoNotWaitInStep) {
    Backoff one(1000ms, 1000ms, 1);
    Backoff two(1000ms, 1000ms, 2);
    EXPECT_NE(one.next(), two.next());
}

}  // namespace
}  // namespace couplet::net
