#include "couplet/data/cells.hpp"

#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;

class CellsTest : public ::testing::Test {
  protected:
    explicit CellsTest() : csv_(std::as_bytes(std::span(text_)), "x.csv") {
        csv_.read_header();
        csv_.next(row_);
    }
    std::string text_ = "a,b,c,d,e\n3.0,2.5,,x,-inf\n";
    CsvReader csv_;
    std::vector<std::string_view> row_;
};

TEST_F(CellsTest, ReadsNumbers) {
    EXPECT_EQ(finite_cell(csv_, row_, 1), 2.5);
    EXPECT_EQ(whole_cell(csv_, row_, 0, 0, 3), 3);
    EXPECT_NO_THROW(require_fields(csv_, row_, 5, "all"));
}

TEST_F(CellsTest, NamesLineAndColumn) {
    EXPECT_EQ(refusal([&] { finite_cell(csv_, row_, 3); }),
              "x.csv: line 2, column 4 ('d') holds 'x'; expected a finite number. Use the file as it was published: "
              "it has a number in every row here.");
    EXPECT_EQ(refusal([&] { finite_cell(csv_, row_, 2); }),
              "x.csv: line 2, column 3 ('c') holds ''; expected a finite number. Use the file as it was published: "
              "it has a number in every row here.");
    EXPECT_EQ(refusal([&] { finite_cell(csv_, row_, 4); }).substr(0, 50),
              "x.csv: line 2, column 5 ('e') holds '-inf'; expect");
    for (const Index column : {1, 2, 4}) {
        EXPECT_NE(refusal([&] { whole_cell(csv_, row_, column, 0, 9); }).find("a whole number from 0 to 9"),
                  std::string::npos);
    }
    EXPECT_EQ(refusal([&] { whole_cell(csv_, row_, 0, 4, 9); }),
              "x.csv: line 2, column 1 ('a') holds '3.0'; expected a whole number from 4 to 9");
    // Neither text nor an empty cell is answered with the other.
    for (const Index column : {2, 3}) {
        EXPECT_NE(refusal([&] {
                      whole_cell(csv_, row_, column, 0, 9);
                  }).find("expected a whole number from 0 to 9. Use the file as it was published: it has a number"),
                  std::string::npos);
    }
    EXPECT_EQ(refusal([&] { require_fields(csv_, row_, 6, "six things"); }),
              "x.csv: line 2 has 5 columns; expected 6: six things. Use the file as it was published.");
}

}  // namespace
}  // namespace couplet
