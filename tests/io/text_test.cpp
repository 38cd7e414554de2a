#include "couplet/io/text.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(Text, ShowsHostileBytesHarmlessly) {
    EXPECT_EQ(shown("plain"), "'plain'");
    EXPECT_EQ(shown("a\nb\x1b\xff"), "'a\\x0ab\\x1b\\xff'");
    EXPECT_EQ(shown("`rank`"), "'\\x60rank\\x60'") << "no name of a parameter";
    EXPECT_EQ(shown(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

TEST(Text, Utf8RoundTripsEveryLength) {
    const std::u32string points = {0, 'a', 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    const std::string text = encode_utf8(points);
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(decode_utf8(text), points);
}

TEST(Text, RefusesWhatRfc3629Refuses) {
    for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                            "\xF0\x80\x80\x80", "\xFF", "a\xE2\x82", "\xC3("}) {
        EXPECT_FALSE(is_utf8(bad));
        EXPECT_FALSE(decode_utf8(bad).has_value());
    }
}

}  // namespace
}  // namespace couplet
