#include "couplet/io/csv.hpp"

#include <cmath>

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::refusal;
using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& text) {
    CsvReader csv(bytes_of(text), "x.csv");
    Rows rows;
    for (std::vector<std::string_view> row; csv.next(row);) rows.emplace_back(row.begin(), row.end());
    return rows;
}

Tensor<double> matrix_of(const std::string& text, Index max_bytes = 1 << 20) {
    CsvReader csv(bytes_of(text), "x.csv");
    return read_csv(csv, max_bytes);
}

std::string refusal_of(const std::string& text, Index max_bytes = 1 << 20) {
    return refusal("x.csv", [&] { matrix_of(text, max_bytes); });
}

std::vector<double> values_of(const Tensor<double>& tensor) { return {tensor.data(), tensor.data() + tensor.size()}; }

TEST(Csv, SplitsFields) {
    EXPECT_EQ(rows_of(""), Rows{});
    EXPECT_EQ(rows_of("\n\r\n"), Rows{});
    EXPECT_EQ(rows_of("a,b\n\n,\r\nc,"), (Rows{{"a", "b"}, {"", ""}, {"c", ""}}));
}

TEST(Csv, NamesTheColumnsThatThereAreUpToForty) {
    const auto said = [](int columns) {
        std::string header = "c0";
        for (int i = 1; i < columns; ++i) header += ",c" + std::to_string(i);
        CsvReader csv(bytes_of(header), "x.csv");
        csv.read_header();
        EXPECT_EQ(csv.column("c" + std::to_string(columns - 1)), columns - 1);
        return refusal("x.csv", [&] { csv.column("age"); });
    };
    const std::string remedy =
        "; expected a column 'age'. Use the file as it was published, or rename the column that holds it.";
    EXPECT_EQ(said(2), "columns 'c0', 'c1'" + remedy);
    EXPECT_TRUE(said(40).ends_with("'c38', 'c39'" + remedy)) << said(40);
    EXPECT_TRUE(said(41).ends_with("'c38', 'c39', ..." + remedy)) << said(41);
    CsvReader none(bytes_of(""), "x.csv");
    EXPECT_EQ(refusal("x.csv", [&] { none.read_header(); }),
              "no rows; expected a header with the names of the columns");
}

TEST(Csv, AnEmptyLineOfASingleColumnIsAMissingCell) {
    EXPECT_EQ(rows_of("age\n1\n\n\n3\n\"4\"\n\n\n"), (Rows{{"age"}, {"1"}, {""}, {""}, {"3"}, {"4"}}));
    EXPECT_EQ(rows_of("\nage\n1\n"), (Rows{{"age"}, {"1"}}));
    EXPECT_EQ(rows_of("a,b\n\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
    const auto values = values_of(matrix_of("age\n1\n\n3\n"));
    ASSERT_EQ(values.size(), 3U);
    EXPECT_TRUE(std::isnan(values[1]));
}

TEST(Csv, UnderstandsQuotes) {
    EXPECT_EQ(rows_of("\"a,b\",\"say \"\"hi\"\"\",c\n"), (Rows{{"a,b", "say \"hi\"", "c"}}));
    EXPECT_EQ(rows_of("\"two\r\n\nlines\",1\nx,2"), (Rows{{"two\n\nlines", "1"}, {"x", "2"}}));
    EXPECT_EQ(rows_of("\"\",\"\"\n\"\"\"\",x"), (Rows{{"", ""}, {"\"", "x"}}));
    EXPECT_EQ(rows_of("5\" pipe,x\"y"), (Rows{{"5\" pipe", "x\"y"}}));
}

TEST(Csv, NamesTheLineOfABadQuote) {
    EXPECT_EQ(refusal_of("1,2\n\n\"3,4\n5"),
              "a quote opened in the row at line 3 never closes; expected a closing quote. Close it, or double the "
              "quotes inside a quoted field.");
    EXPECT_EQ(refusal_of("1,2\n\"3\"4,5"),
              "text after a closing quote in the row at line 2; expected a separator or the end of the line. "
              "Double the quotes inside a "
              "quoted field.");
}

TEST(Csv, NamesRaggedRows) {
    EXPECT_EQ(refusal_of("\n1,2,3\n\n4,5\n"),
              "line 4 has 2 fields; expected 3 as on line 2. Give every row as many fields, and quote those that hold "
              "a separator.");
    EXPECT_EQ(refusal_of("1\n2,3\n"),
              "line 2 has 2 fields; expected 1 as on line 1. Give every row as many fields, and quote those that hold "
              "a separator.");
}

TEST(Csv, FindsColumnsByName) {
    const std::string text = "\"patient id\",age,bmi\n1,30,\n2,x,21\n";
    CsvReader csv(bytes_of(text), "x.csv");
    EXPECT_EQ(csv.read_header(), (std::vector<std::string>{"patient id", "age", "bmi"}));
    EXPECT_EQ(csv.column("bmi"), 2);
    EXPECT_EQ(
        refusal("x.csv", [&] { csv.column("weight"); }),
        "columns 'patient id', 'age', 'bmi'; expected a column 'weight'. Use the file as it was published, or rename "
        "the column that holds it.");
    std::vector<std::string_view> row;
    ASSERT_TRUE(csv.next(row));
    EXPECT_EQ(csv.number(row, 1), 30);
    EXPECT_TRUE(std::isnan(csv.number(row, 2)));
    ASSERT_TRUE(csv.next(row));
    EXPECT_EQ(csv.line_number(), 3);
    EXPECT_EQ(
        refusal("x.csv", [&] { csv.number(row, 1); }),
        "line 3, column 2 ('age') holds 'x'; expected a number. Leave out columns of text, or let couplet table read "
        "them: it keeps identifiers apart and makes numbers of categories.");
    EXPECT_FALSE(csv.next(row));
    const std::string nothing;
    CsvReader empty(bytes_of(nothing), "x.csv");
    EXPECT_EQ(refusal("x.csv", [&] { empty.read_header(); }),
              "no rows; expected a header with the names of the columns");
}

TEST(Csv, ReadsAMatrix) {
    const Tensor<double> plain = matrix_of("1,2.5\r\n-3,4e2\r\n");
    EXPECT_EQ(plain.shape(), (Shape{2, 2}));
    EXPECT_EQ(values_of(plain), (std::vector<double>{1, 2.5, -3, 400}));
    EXPECT_TRUE(plain.labels().empty());

    const Tensor<double> named = matrix_of("age,\"b,m,i\",\n1,2,3\n");
    EXPECT_EQ(named.shape(), (Shape{1, 3}));
    EXPECT_EQ(named.labels()[1].entries, (std::vector<std::string>{"age", "b,m,i", ""}));

    const Tensor<double> missing = matrix_of("1,\nnan,4");
    EXPECT_TRUE(std::isnan(missing.data()[1]));
    EXPECT_TRUE(std::isnan(missing.data()[2]));
    EXPECT_EQ(matrix_of("7").shape(), (Shape{1, 1}));
}

TEST(Csv, SaysWhenTheSeparatorLooksLikeAnother) {
    EXPECT_NE(refusal_of("a;b\n1;2\n").find("The separator looks like a semicolon"), std::string::npos);
    EXPECT_NE(refusal_of("a;b\n1,5;2\n").find("The separator looks like a semicolon"), std::string::npos);
    EXPECT_NE(refusal_of("a\tb\n1\t2\n").find("The separator looks like a tab"), std::string::npos);
    EXPECT_EQ(refusal_of("a,b\n1;2,3\n").find("separator"), std::string::npos);
}

TEST(Csv, NamesTheBadCell) {
    EXPECT_EQ(
        refusal_of("1,2\n3,abc\n"),
        "line 2, column 2 holds 'abc'; expected a number. Leave out columns of text, or let couplet table read them: "
        "it keeps identifiers apart and makes numbers of categories.");
    // A first row with text and numbers is neither a header nor data: never drop it silently.
    EXPECT_EQ(
        refusal_of("1,abc\n3,4\n"),
        "line 1, column 2 holds 'abc'; expected a number. Leave out columns of text, or let couplet table read them: "
        "it keeps identifiers apart and makes numbers of categories.");
    EXPECT_EQ(
        refusal_of("1,1e999\n"),
        "line 1, column 2 holds '1e999'; expected a number in the range of float64. Use another unit, or leave the "
        "value empty.");
    EXPECT_EQ(refusal_of("1,\"2,5\"\n"),
              "line 1, column 2 holds '2,5'; expected a number. Use a decimal point; leave missing values empty.");
}

TEST(Csv, RefusesFilesWithoutAMatrix) {
    EXPECT_EQ(refusal_of(""), "no rows of numbers; expected at least one row. Check how the file was made.");
    EXPECT_EQ(refusal_of("a,b\n"), "no rows of numbers; expected at least one row. Check how the file was made.");
    EXPECT_EQ(refusal_of("na\xEFve\n1\n"),
              "a header that is not UTF-8: 'na\\xefve'; expected UTF-8 text. Convert it, for example with "
              "iconv -f latin1 -t utf8.");
    EXPECT_EQ(refusal_of("1,2\n3,4\n5,6\n", 32),
              "more than 32 bytes of numbers by line 3; expected a matrix within that limit. Split the file by "
              "patients.");
}

TEST(Csv, WholeNumbersThatWouldBeRoundedAreRefused) {
    EXPECT_EQ(values_of(matrix_of("9007199254740992,-9007199254740994\n")),
              (std::vector<double>{9007199254740992, -9007199254740994}));
    for (const char* number : {"9007199254740993", "-9007199254740993", " +1000000000000000001 "}) {
        EXPECT_NE(refusal_of(std::string("1,2\n3,") + number + "\n").find("holds exactly"), std::string::npos);
    }
    EXPECT_EQ(values_of(matrix_of("9007199254740993.5,1e300,100000000000000000000\n")).size(), 3U);
}

}  // namespace
}  // namespace couplet
