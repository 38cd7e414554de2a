#include "couplet/io/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace couplet {
namespace {

double value_of(const char* text) {
    double value = -1;
    EXPECT_EQ(parse_number(text, value), NumberText::number) << text;
    return value;
}

TEST(Number, ReadsDecimals) {
    EXPECT_EQ(value_of("1"), 1);
    EXPECT_EQ(value_of(" -2.5e3\t"), -2500);
    EXPECT_EQ(value_of("+.5"), 0.5);
    EXPECT_EQ(value_of("0.1"), 0.1);
    EXPECT_EQ(value_of("1e-400"), 0);
    EXPECT_EQ(value_of("4.9e-324"), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(value_of("1.7976931348623157e308"), std::numeric_limits<double>::max());
}

TEST(Number, MissingAndSpecialValues) {
    for (const char* text : {"", "  ", "nan", "NaN", "-nan"}) EXPECT_TRUE(std::isnan(value_of(text))) << text;
    EXPECT_EQ(value_of("inf"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(value_of("-Infinity"), -std::numeric_limits<double>::infinity());
}

TEST(Number, RefusesTheRest) {
    double value = 0;
    for (const char* text : {"abc", "1.5x", "1,5", "+-1", "--1", "+", "-", "0x10", "1 2", "NA"}) {
        EXPECT_EQ(parse_number(text, value), NumberText::not_a_number) << text;
    }
    for (const char* text : {"1e999", "-1e309", "1e99999"}) {
        EXPECT_EQ(parse_number(text, value), NumberText::out_of_range) << text;
    }
}

}  // namespace
}  // namespace couplet
