#include "couplet/io/csv_text.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(CsvTextTest, QuotesWhereItMust) {
    EXPECT_EQ(csv_field("plain"), "plain");
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("a\"b\n"), "\"a\"\"b\n\"");
    EXPECT_EQ(csv_field("=1"), "=1");
}

TEST(CsvTextTest, NothingIsComputedOrPrintedInColour) {
    EXPECT_EQ(safe_csv_field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    EXPECT_EQ(safe_csv_field("@sum(a,b)"), "\"'@sum(a,b)\"");
    EXPECT_EQ(safe_csv_field("-5.5"), "-5.5");
    EXPECT_EQ(safe_csv_field("-5 a"), "'-5 a");
    EXPECT_EQ(safe_csv_field("a\x1b[31m\n"), "a?[31m?");
    EXPECT_EQ(safe_csv_field("Asthma"), "Asthma");
    EXPECT_EQ(safe_csv_field(""), "");
}

}  // namespace
}  // namespace couplet
