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

TEST(Patience, AttemptsThatOnlyBeginAgainKeepNobodyWaiting) {
    Patience patience(10s, start);
    EXPECT_TRUE(patience.hear(route(1, 0, 0), start));
    for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) {
        EXPECT_TRUE(patience.hear(route(1, attempt, 1), start + std::chrono::seconds(attempt)));
        EXPECT_TRUE(patience.hear(route(1, attempt, 2), start + std::chrono::seconds(attempt)));
        EXPECT_FALSE(patience.is_led_on());
    }
    EXPECT_FALSE(patience.hear(route(1, 9, 1), start + 9s));
    EXPECT_FALSE(patience.hear(route(1, 9, 2), start + 9s)) << "nor what is asked in it";
    EXPECT_TRUE(patience.is_led_on());
    EXPECT_TRUE(patience.is_over(start + 18s));
}

TEST(Patience, StartsAndStepsOfOneAttemptHaveAnEndToo) {
    Patience patience(10s, start);
    EXPECT_TRUE(patience.hear(route(1, 0, 0), start));
    for (std::uint32_t step = 1; step <= 8; ++step) EXPECT_TRUE(patience.hear(route(1, 1, step), start + 1s, true));
    EXPECT_FALSE(patience.hear(route(1, 1, 9), start + 2s, true)) << "a start is one, whatever its number";
    EXPECT_TRUE(patience.hear(route(2, 0, 0), start + 2s));
    EXPECT_TRUE(patience.hear(route(2, 1, 256), start + 3s));
    EXPECT_FALSE(patience.hear(route(2, 1, 257), start + 4s));
    EXPECT_FALSE(patience.answer(route(2, 1, 257), start + 4s));
    EXPECT_EQ(patience.waited(start + 4s), 1s);
}

TEST(Patience, AnAnswerCountsOnce) {
    Patience patience(10s, start);
    patience.hear(route(1, 2, 1), start);
    EXPECT_TRUE(patience.answer(route(1, 1, 1), start + 1s));
    EXPECT_TRUE(patience.answer(route(1, 2, 1), start + 2s));
    EXPECT_FALSE(patience.answer(route(1, 1, 1), start + 3s)) << "asked in turns";
    EXPECT_FALSE(patience.answer(route(1, 2, 1), start + 3s));
    EXPECT_EQ(patience.waited(start + 3s), 1s);
}

TEST(Patience, FillingMissingEntriesTakesManyAttempts) {
    Patience patience(10s, start);
    EXPECT_TRUE(patience.hear(route(1, 0, 0), start));
    patience.expect_iterations(3);
    for (std::uint32_t attempt = 1; attempt <= 11; ++attempt) {
        EXPECT_TRUE(patience.hear(route(1, attempt, 1), start + std::chrono::seconds(attempt)));
    }
    EXPECT_FALSE(patience.hear(route(1, 12, 1), start + 12s));
    EXPECT_TRUE(patience.hear(route(2, 0, 0), start + 13s)) << "another job";
    EXPECT_FALSE(patience.is_led_on());
    for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) patience.hear(route(2, attempt, 1), start + 14s);
    EXPECT_FALSE(patience.hear(route(2, 9, 1), start + 15s)) << "that has none to fill";
}

}  // namespace
}  // namespace couplet::net
