#include "couplet/experiments/scale.hpp"

#include <algorithm>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(ScaleTest, MapsTheRangeInside) {
    const Scale linear(2, 10, false, 0, 100);
    EXPECT_GT(linear.at(2), 0);
    EXPECT_LT(linear.at(10), 100);
    EXPECT_NEAR(linear.at(6), 50, 1e-9);
    const Scale log(1, 100, true, 100, 0);  // upside down, as the y axis
    EXPECT_NEAR(log.at(10), 50, 1e-9);
    EXPECT_GT(log.at(1), log.at(100));
}

TEST(ScaleTest, ZeroIsAFloor) {
    EXPECT_EQ(Scale(0, 1, false, 0, 1).low(), 0);
    EXPECT_EQ(Scale(0.01, 1, false, 0, 1).low(), 0);
    EXPECT_LT(Scale(-1, 1, false, 0, 1).low(), -1);
}

TEST(ScaleTest, AFewRoundTicksWhateverTheRange) {
    for (const auto& [low, high] :
         std::vector<std::pair<double, double>>{{0, 1}, {5, 20}, {0.18, 0.21}, {3, 3}, {-7, 1e6}, {0, 1e-5}}) {
        const auto ticks = Scale(low, high, false, 0, 1).ticks();
        EXPECT_GE(ticks.size(), 3U) << low << " " << high;
        EXPECT_LE(ticks.size(), 9U) << low << " " << high;
    }
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{
             {1, 1e3}, {1e-12, 1}, {0.18, 0.21}, {2, 9}, {5, 5}, {1e4, 1e8}, {1e-30, 1e6}, {0.478, 0.766}}) {
        const Scale scale(low, high, true, 0, 1);
        const auto ticks = scale.ticks();
        const auto labels = std::count_if(ticks.begin(), ticks.end(), [](const Tick& t) { return !t.label.empty(); });
        EXPECT_GE(labels, 2) << low << " " << high;
        EXPECT_LE(labels, 9) << low << " " << high;
        for (const Tick& tick : ticks) {
            EXPECT_GE(tick.value, scale.low() * (1 - 1e-9));
            EXPECT_LE(tick.value, scale.high() * (1 + 1e-9));
        }
    }
}

TEST(ScaleTest, RefusesWhatCannotBeDrawn) {
    EXPECT_THROW(Scale(0, 1, true, 0, 1), InputError);
    EXPECT_THROW(Scale(2, 1, false, 0, 1), InputError);
    EXPECT_THROW(Scale(0, INFINITY, false, 0, 1), InputError);
    EXPECT_THROW(Scale(NAN, 1, false, 0, 1), InputError);
}

TEST(ScaleTest, NumbersForPeople) {
    EXPECT_EQ(short_number(0), "0");
    EXPECT_EQ(short_number(0.01234), "0.0123");
    EXPECT_EQ(short_number(12345), "12,345");
    EXPECT_EQ(short_number(-12345), "-12,345");
    EXPECT_EQ(short_number(1390000), "1.39 M");
    EXPECT_EQ(short_number(2.5e9), "2.5 G");
    EXPECT_EQ(short_number(1.25e-7), "1.2e-7");
    EXPECT_EQ(short_number(NAN), "-");
    EXPECT_EQ(rse_text(3e-29), "exact");
    EXPECT_EQ(rse_text(0.25), "0.250");
    EXPECT_EQ(table_number(0.16), "0.160");
    EXPECT_EQ(table_number(123.4), "123");
    EXPECT_EQ(table_number(75), "75");
    EXPECT_EQ(table_number(12345), "12,345");
    EXPECT_EQ(tick_number(20000), "20k");
    EXPECT_EQ(tick_number(1e6), "1M");
    EXPECT_EQ(tick_number(0.5), "0.5");
    EXPECT_EQ(tick_number(1e-4), "1e-4");
    EXPECT_EQ(tick_number(-2e-6), "-2e-6");
    EXPECT_EQ(tick_number(0), "0");
}

}  // namespace
}  // namespace couplet
