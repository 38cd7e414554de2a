#include "layout.hpp"

#include <gtest/gtest.h>

namespace couplet::testing {
namespace {

TEST(Layout, WidthCountsCodePoints) {
    EXPECT_EQ(cli::display_width(""), 0U);
    EXPECT_EQ(cli::display_width("abc"), 3U);
    EXPECT_EQ(cli::display_width("▁█é"), 3U);
}

TEST(Layout, WrapsAtEightyColumns) {
    const std::string words(20, 'a');
    const std::string text = words + " " + words + " " + words + " " + words;
    EXPECT_EQ(cli::wrapped(text, 0), words + " " + words + " " + words + "\n" + words);
    EXPECT_EQ(cli::wrapped("a\n\nb", 2), "  a\n\n  b");
    EXPECT_EQ(cli::wrapped("a b", 5, true), "a b");
    const std::string exact = std::string(39, 'a') + " " + std::string(40, 'b');
    EXPECT_EQ(cli::wrapped(exact, 0), exact) << "80 columns are allowed";
    const std::string over = std::string(40, 'a') + " " + std::string(40, 'b');
    EXPECT_EQ(cli::wrapped(over, 0), std::string(40, 'a') + "\n" + std::string(40, 'b'));
    const std::string long_word(100, 'x');
    EXPECT_EQ(cli::wrapped(long_word, 0), long_word) << "a word is never broken";
}

TEST(Layout, FieldsShareAColumn) {
    EXPECT_EQ(cli::fields({{"a", "1"}, {"long", "2"}}), "a     1\nlong  2\n");
    EXPECT_EQ(cli::fields({{"a", "1"}}, 2), "  a  1\n");
}

TEST(Layout, TablesAlignNumbersRight) {
    EXPECT_EQ(cli::table({{"mode", "rank"}, {"1", "5"}, {"2", "123456"}}),
              "mode    rank\n1          5\n2     123456\n");
    EXPECT_EQ(cli::table({{"▁", "x"}, {"ab", "y"}}), "▁   x\nab  y\n");
    EXPECT_EQ(cli::table({}), "");
}

}  // namespace
}  // namespace couplet::testing
