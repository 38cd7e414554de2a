#include "couplet/table/delimited.hpp"

#include "table_test_support.hpp"

namespace couplet {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows read(std::string_view text, const TextForm& form = {}) {
    DelimitedReader reader(testing::bytes_of(text), "t", form);
    Rows rows{reader.columns()};
    for (std::vector<std::string_view> row; reader.next(row);) rows.emplace_back(row.begin(), row.end());
    return rows;
}

TEST(DelimitedTest, FindsTheSeparator) {
    const Rows expected{{"a", "b"}, {"1", "2"}};
    for (const char* text :
         {"a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "a|b\n1|2\n", "\xEF\xBB\xBF a , b\r\n 1 ,2\r\n"}) {
        EXPECT_EQ(read(text), expected) << text;
    }
    EXPECT_EQ(detect_separator("\"a,b,c,d\";e"), ';');
    EXPECT_EQ(detect_separator("alone"), ',');
    EXPECT_EQ(read("a;b,c\n1;2,5\n", {.separator = ';'}), (Rows{{"a", "b,c"}, {"1", "2,5"}}));
}

TEST(DelimitedTest, QuotesAndHeaders) {
    EXPECT_EQ(read("a;b\n\"x;\"\"y\"\"\";\"two\nlines\"\n"), (Rows{{"a", "b"}, {"x;\"y\"", "two\nlines"}}));
    EXPECT_EQ(read("1,2\n3,4\n", {.header = false}), (Rows{{"1", "2"}, {"1", "2"}, {"3", "4"}}));
    EXPECT_EQ(read("caf\xE9,b\nM\xFCller,x\n", {.encoding = Encoding::latin1}), (Rows{{"café", "b"}, {"Müller", "x"}}));
    EXPECT_THROW(read(""), InputError);
    EXPECT_THROW(read("a,b\n\"x,1\n"), InputError);
}

}  // namespace
}  // namespace couplet
