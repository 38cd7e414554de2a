#include "couplet/table/dates.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace couplet {
namespace {

TEST(DatesTest, ReadsTheUsualForms) {
    EXPECT_EQ(parse_date("1970-01-01"), 0);
    EXPECT_EQ(parse_date("2000-03-01"), 11017);
    EXPECT_EQ(parse_date("20000301"), 11017);
    EXPECT_EQ(parse_date("2000-03-01T23:59:59Z"), 11017);
    EXPECT_EQ(parse_date("1969-12-31 08:00"), -1);
    EXPECT_EQ(parse_date("1.3.2000", DateOrder::day_first), 11017);
    EXPECT_EQ(parse_date("01/03/2000", DateOrder::day_first), 11017);
    EXPECT_EQ(parse_date("3/1/2000", DateOrder::month_first), 11017);
    EXPECT_EQ(parse_date("2000-03-01", DateOrder::month_first), 11017);
}

TEST(DatesTest, DaysThatDoNotExistAreNone) {
    for (const char* text : {"", "2023-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "1799-01-01", "2200-01-01",
                             "2024-3", "24-03-01", "2024-03-01x", "x", "20240230", "3/1/2000"}) {
        EXPECT_EQ(parse_date(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_date("2024-02-29"), 19782);
    EXPECT_EQ(parse_date("31/2/2024", DateOrder::day_first), std::nullopt);
    EXPECT_EQ(parse_date("5/28/88", DateOrder::month_first), std::nullopt);
}

TEST(DatesTest, TimesOfDayCountAndGarbageDoesNot) {
    EXPECT_EQ(parse_moment("1970-01-02"), 86400);
    EXPECT_EQ(parse_moment("1970-01-01T01:00:00Z"), 3600);
    EXPECT_EQ(parse_moment("1970-01-01T01:00+01:00"), 0);
    EXPECT_EQ(parse_moment("1970-01-01 01:00:00.5 -0030"), 3600 + 1800 + 0.5);
    EXPECT_EQ(parse_moment("19700101T010203"), 3723);
    EXPECT_EQ(parse_moment("1/1/1970 1:30 PM", DateOrder::month_first), 13.5 * 3600);
    EXPECT_EQ(parse_moment("1.1.1970 12:00 am", DateOrder::day_first), 0);
    EXPECT_EQ(parse_date("2024-01-01T00:30:00+02:00"), parse_date("2024-01-01"));  // the day that is written
    for (const char* text :
         {"2024-01-01Tgarbage", "2024-01-01T", "2024-01-01 25:00", "2024-01-01T10:61", "2024-01-01T10:00:00Zx",
          "2024-01-01T10:00+1", "2024-01-01T10:00:", "2024-01-01T10:00:00.", "2024-01-01 13:00 PM"}) {
        EXPECT_EQ(parse_date(text), std::nullopt) << text;
        EXPECT_EQ(parse_moment(text), std::nullopt) << text;
    }
}

TEST(DatesTest, PartsOfADateAreEnoughForABinAsCoarse) {
    EXPECT_EQ(parse_bin_date("2024-03", TimeBin::month), bin_of(*parse_date("2024-03-01"), TimeBin::month));
    EXPECT_EQ(parse_bin_date("2024-05", TimeBin::quarter), bin_of(*parse_date("2024-04-01"), TimeBin::quarter));
    EXPECT_EQ(parse_bin_date("2024", TimeBin::year), 2024);
    EXPECT_EQ(parse_bin_date("2024-03-05T10:00Z", TimeBin::year), 2024);
    for (const auto& [text, bin] : {std::pair{"2024-03", TimeBin::week},
                                    {"2024", TimeBin::month},
                                    {"2024-13", TimeBin::month},
                                    {"2024-3", TimeBin::month},
                                    {"x", TimeBin::year}}) {
        EXPECT_EQ(parse_bin_date(text, bin), std::nullopt) << text;
    }
}

TEST(DatesTest, BinsFollowEachOtherAndReadBack) {
    for (const TimeBin bin : {TimeBin::day, TimeBin::week, TimeBin::month, TimeBin::quarter, TimeBin::year}) {
        EXPECT_EQ(parse_bin(to_string(bin)), bin);
        std::int64_t before = bin_of(-4000, bin);
        for (std::int64_t day = -4000; day < 30000; ++day) {
            const std::int64_t number = bin_of(day, bin);
            ASSERT_TRUE(number == before || number == before + 1);
            if (number != before || day == -4000) {
                ASSERT_EQ(parse_bin_label(bin_label(number, bin), bin), number) << bin_label(number, bin);
                if (number != before) {
                    ASSERT_LT(bin_label(before, bin), bin_label(number, bin));
                }
            }
            before = number;
        }
    }
    EXPECT_EQ(parse_bin("decade"), std::nullopt);
}

TEST(DatesTest, LabelsAreThoseOfIso8601) {
    const auto label = [](const char* date, TimeBin bin) { return bin_label(bin_of(*parse_date(date), bin), bin); };
    EXPECT_EQ(label("2024-03-31", TimeBin::day), "2024-03-31");
    EXPECT_EQ(label("2024-03-31", TimeBin::week), "2024-W13");
    EXPECT_EQ(label("2024-12-30", TimeBin::week), "2025-W01");
    EXPECT_EQ(label("2021-01-03", TimeBin::week), "2020-W53");
    EXPECT_EQ(label("2199-12-31", TimeBin::week), "2200-W01");  // a year that no date may have
    EXPECT_EQ(parse_bin_label("2200-W01", TimeBin::week), bin_of(*parse_date("2199-12-31"), TimeBin::week));
    EXPECT_EQ(label("2024-03-31", TimeBin::month), "2024-03");
    EXPECT_EQ(label("2024-04-01", TimeBin::quarter), "2024-Q2");
    EXPECT_EQ(label("2024-04-01", TimeBin::year), "2024");
    EXPECT_EQ(parse_bin_label("2024-W54", TimeBin::week), std::nullopt);
    EXPECT_EQ(parse_bin_label("2024-Q5", TimeBin::quarter), std::nullopt);
    EXPECT_EQ(parse_bin_label("asthma", TimeBin::month), std::nullopt);
}

}  // namespace
}  // namespace couplet
