#include "couplet/consensus/text_file.hpp"

#include "support.hpp"

namespace couplet {
namespace {

TEST(TextFileTest, KeepsWordsAndLineNumbers) {
    const TextFile file("# head\n\n1 2\r\n  3,4 ; 5 # tail\n#\n6");
    const auto lines = read_text_lines(file.path());
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0].number, 3);
    EXPECT_EQ(lines[0].words, (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(lines[1].number, 4);
    EXPECT_EQ(lines[1].words, (std::vector<std::string>{"3", "4", "5"}));
    EXPECT_EQ(lines[2].words, std::vector<std::string>{"6"});
}

TEST(TextFileTest, MissingFileIsNamed) {
    EXPECT_EQ(message_of([] { read_text_lines("/no/such/file"); }),
              "/no/such/file: no such file; expected a readable text file. Check the path.");
    EXPECT_THROW(read_text_lines("/"), InputError);
}

TEST(TextFileTest, ParsesWholeWordsOnly) {
    long long integer = 0;
    double number = 0;
    EXPECT_TRUE(parse_word("+12", integer));
    EXPECT_EQ(integer, 12);
    EXPECT_FALSE(parse_word("12x", integer));
    EXPECT_FALSE(parse_word("", integer));
    EXPECT_FALSE(parse_word("99999999999999999999", integer));
    EXPECT_TRUE(parse_word("-2.5e-1", number));
    EXPECT_EQ(number, -0.25);
    EXPECT_FALSE(parse_word("0.5.5", number));
}

TEST(TextFileTest, LargeFilesAreRefusedUnread) {
    const TextFile file("1 2\n");
    std::filesystem::resize_file(file.path(), (std::uintmax_t{256} << 20) + 1);  // sparse: no disk is used
    EXPECT_EQ(message_of([&] { read_text_lines(file.path()); }),
              file.path() + ": 268435457 bytes; expected at most 256 MiB of text");
}

TEST(TextFileTest, OneSignOnly) {
    long long integer = 0;
    EXPECT_TRUE(parse_word("-3", integer));
    EXPECT_EQ(integer, -3);
    EXPECT_FALSE(parse_word("++3", integer));
    EXPECT_FALSE(parse_word("+", integer));
    EXPECT_EQ(place_in_file("a.txt", 7), "a.txt, line 7");
}

}  // namespace
}  // namespace couplet
