#include "couplet/core/utf8.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(Utf8Test, ReadsTheFirstCodePoint) {
    EXPECT_EQ(first_code_point("ab").length, 1U);
    EXPECT_EQ(first_code_point("\xc2\xb5g").value, U'\u00b5');
    EXPECT_EQ(first_code_point("\xe2\x82\x81").value, U'\u2081');
    EXPECT_EQ(first_code_point("\xf0\x9f\x98\x80").length, 4U);
    EXPECT_EQ(first_code_point("\xf4\x8f\xbf\xbf").value, U'\U0010ffff');
}

TEST(Utf8Test, TakesNothingThatIsNone) {
    for (const char* bad : {"\xff", "\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xc2", "\xe2(\xa1"}) {
        EXPECT_EQ(first_code_point(bad).length, 0U) << static_cast<int>(static_cast<unsigned char>(bad[0]));
    }
}

TEST(Utf8Test, ControlCharactersAreThoseThatTerminalsObey) {
    EXPECT_TRUE(is_control(U'\x1b') && is_control(U'\n') && is_control(0x1f) && is_control(0x7f));
    EXPECT_TRUE(is_control(0x80) && is_control(0x9b) && is_control(0x9f));
    EXPECT_TRUE(is_control(0x2028) && is_control(0x2029) && is_control(0x202a) && is_control(0x202e));
    EXPECT_TRUE(is_control(0x2066) && is_control(0x2069));
    EXPECT_FALSE(is_control(0x2027) || is_control(0x202f) || is_control(0x2065) || is_control(0x206a));
    EXPECT_FALSE(is_control(U' ') || is_control(U'~') || is_control(0xa0) || is_control(U'\u2081'));
}

TEST(Utf8Test, PlainTextMovesNoCursor) {
    EXPECT_EQ(plain_text("R\u2081 = 20"), "R\u2081 = 20");
    EXPECT_EQ(plain_text("gone\n12:00:00 the job is done\x1b[2J"), "gone?12:00:00 the job is done?[2J");
    EXPECT_EQ(plain_text("\xc2\x9b"
                         "31m\xff\xe2\x82z"),
              "?31m???z");
    EXPECT_EQ(plain_text(""), "");
}

TEST(Utf8Test, ShortensToWholeCharacters) {
    EXPECT_EQ(shortened("", 0), "");
    EXPECT_EQ(shortened("abc", 3), "abc");
    EXPECT_EQ(shortened("abcd", 3), "abc...");
    EXPECT_EQ(shortened("a\xc3\xa4z", 2), "a...") << "half an umlaut is none";
    EXPECT_EQ(shortened("a\xc3\xa4z", 3), "a\xc3\xa4...");
    EXPECT_EQ(shortened("\xf0\x9f\x98\x80z", 3), "...");
    EXPECT_EQ(shortened(std::string(10, '\x80'), 8), std::string(5, '\x80') + "...")
        << "what is no text has an end too";
}

}  // namespace
}  // namespace couplet
