#include "patience.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

const Patience::Clock::time_point start{};

wire::Route route(std::uint8_t job, std::uint32_t attempt, std::uint32_t step) {
    return {wire::protocol_version, wire::JobId{job}, attempt, step};
}

TEST(Patience, EndsAtTheDeadlineAndNotBefore) {
    const Patience patience(10s, start);
    EXPECT_EQ(patience.left(start + 4s), 6s);
    EXPECT_FALSE(patience.is_over(start + 9999ms));
    EXPECT_TRUE(patience.is_over(start + 10s));
    EXPECT_EQ(patience.left(start + 11s), 1ms) << "a moment, so that what is there is read";
    const Patience endless({}, start);
    EXPECT_EQ(endless.left(start + 99h), std::nullopt);
    EXPECT_FALSE(endless.is_over(start + 99h));
}

TEST(Patience, OnlyWhatIsNewBringsAJobForward) {
    Patience patience(10s, start);
    EXPECT_TRUE(patience.hear(route(1, 0, 0), start + 1s));
    EXPECT_TRUE(patience.hear(route(1, 1, 1), start + 2s));
    EXPECT_FALSE(patience.hear(route(1, 1, 1), start + 8s)) << "told again";
    EXPECT_FALSE(patience.hear(route(1, 0, 0), start + 8s)) << "a welcome of the same job";
    EXPECT_EQ(patience.waited(start + 8s), 6s);
    EXPECT_TRUE(patience.hear(route(1, 2, 0), start + 9s));
    EXPECT_FALSE(patience.is_over(start + 18s));
    patience.work_done(start + 18s);
    EXPECT_FALSE(patience.is_over(start + 27s));
    EXPECT_TRUE(patience.is_over(start + 28s));
}

TEST(Patience, JobsThatOnlyBeginKeepNobodyWaiting) {
    Patience patience(10s, start);
    for (std::uint8_t job = 1; job <= 8; ++job) {
        EXPECT_TRUE(patience.hear(route(job, 0, 0), start + std::chrono::seconds(job)));
        EXPECT_FALSE(patience.is_led_on());
    }
    EXPECT_FALSE(patience.hear(route(9, 0, 0), start + 9s));
    EXPECT_TRUE(patience.is_led_on());
    EXPECT_FALSE(patience.hear(route(10, 0, 0), start + 10s));
    EXPECT_TRUE(patience.is_over(start + 18s));
}

}  // namespace
}  // namespace couplet::net
