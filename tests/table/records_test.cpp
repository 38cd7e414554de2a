#include "couplet/table/records.hpp"

#include <cmath>

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;

class RecordsTest : public TableTest {
  protected:
    std::string opened(const std::string& name, std::string_view bytes, const TextForm& form = {}) const {
        put(name, bytes);
        try {
            std::vector<std::string_view> row;
            const auto reader = open_records(path(name), form);
            while (reader->next(row)) continue;
        } catch (const InputError& error) {
            const std::string said = error.what();
            return said.substr(said.find(name));
        }
        return "read";
    }
};

TEST_F(RecordsTest, RefusesWhatIsNoTable) {
    EXPECT_NE(opened("a.csv", "").find("an empty file"), std::string::npos);
    EXPECT_NE(opened("a.csv", "\n \n").find("an empty file"), std::string::npos);
    EXPECT_NE(opened("a.csv", std::string_view("PK\x03\x04\0\0", 6)).find("binary data in line 1, byte 3"),
              std::string::npos);
    EXPECT_NE(opened("a.csv", std::string_view("\xFF\xFE"
                                               "a\0",
                                               4))
                  .find("UTF-16"),
              std::string::npos);
    const std::string json = opened("a.json", "[{\"a\": 1}]\n");
    EXPECT_NE(json.find("a JSON array; expected csv, or a JSON object a line"), std::string::npos) << json;
    EXPECT_NE(json.find("pandas.read_json("), std::string::npos) << json;
    EXPECT_NE(opened("a.csv", "[\n").find("a JSON array"), std::string::npos);
    EXPECT_EQ(opened("a.csv", "[id],b\n1,2\n"), "read");
    const std::string book = opened("a.xlsx", std::string_view("PK\x03\x04\0\0", 6));
    EXPECT_NE(book.find("pandas.read_excel("), std::string::npos) << book;
    EXPECT_NE(opened("a.csv", std::string_view("a,b\n1,\0\n", 8)).find("a.csv, line 2, column 2 (b): binary data"),
              std::string::npos)
        << opened("a.csv", std::string_view("a,b\n1,\0\n", 8));
    EXPECT_NE(opened("a.csv", "a,b\n1\n").find("line 2 has 1 fields"), std::string::npos);
    EXPECT_NE(opened("a.csv", "a,b\r1,2\r3,4\r").find("a carriage return"), std::string::npos);
    EXPECT_EQ(opened("a.csv", "a,b\r\n1,2\r\n"), "read");
    EXPECT_NE(opened("a.csv", "a,b\n1,M\xFCller\n").find("line 2, column 2 (b)"), std::string::npos);
    EXPECT_EQ(opened("a.csv", "a,b\n1,M\xFCller\n", {.encoding = Encoding::latin1}), "read");
    EXPECT_NE(opened("a.ndjson", "{\"a\": 1}\n{\"a\": \n").find("a.ndjson, line 2"), std::string::npos);
    EXPECT_NE(opened("a.ndjson", "[1]\n").find("JSON that is no object"), std::string::npos);
    EXPECT_NE(opened("a.csv.gz", "not packed").find("not compressed"), std::string::npos);
}

TEST_F(RecordsTest, NamesAndColumns) {
    EXPECT_EQ(table_name("x/Condition.000.ndjson.gz"), "Condition");
    EXPECT_EQ(table_name("conditions.csv"), "conditions");
    put("a.csv", "a,b,b\n1,2,3\n");
    const auto reader = open_records(path("a.csv"), {});
    EXPECT_EQ(reader->column("a"), 0);
    EXPECT_THROW(reader->column("b"), InputError);
    EXPECT_THROW(reader->column("c"), InputError);
    EXPECT_FALSE(reader->has_column("c"));
}

TEST_F(RecordsTest, NumbersWithPointOrComma) {
    put("a.csv", "a;b\n1;2\n");
    const auto reader = open_records(path("a.csv"), {});
    std::vector<std::string_view> row;
    ASSERT_TRUE(reader->next(row));
    EXPECT_EQ(number_cell(*reader, 0, "1.5", '.'), 1.5);
    EXPECT_EQ(number_cell(*reader, 0, "1,5", ','), 1.5);
    EXPECT_EQ(number_cell(*reader, 0, "1.234,5", ','), 1234.5);
    EXPECT_EQ(number_cell(*reader, 0, "-1.234.567", ','), -1234567);
    EXPECT_EQ(number_cell(*reader, 0, "12", ','), 12);
    // A point that does not group thousands is a decimal one, and the column is not what was said.
    for (const char* bad : {"1.5", "12.34,5", "1234.567", "1,234.5", "1..234", ".123", "1.2345", "1.234.56"}) {
        EXPECT_THROW(number_cell(*reader, 1, bad, ','), InputError) << bad;
    }
    EXPECT_TRUE(std::isnan(number_cell(*reader, 0, "", '.')));
    for (const char* bad : {"1,5", "x", "inf", "nan", "1e999"}) {
        EXPECT_THROW(number_cell(*reader, 1, bad, '.'), InputError) << bad;
    }
    try {
        number_cell(*reader, 1, "1,5", '.');
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("line 2, column 2 (b)"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("`decimal` comma"), std::string::npos);
    }
    try {
        number_cell(*reader, 1, "1,234.5", '.');
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("without commas"), std::string::npos) << error.what();
    }
    EXPECT_EQ(latin1_to_utf8("M\xFCller \xDF"), "Müller ß");
}

}  // namespace
}  // namespace couplet
