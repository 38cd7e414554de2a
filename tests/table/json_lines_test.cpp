#include "couplet/table/json_lines.hpp"

#include "table_test_support.hpp"

namespace couplet {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows read(std::string_view text, const std::vector<std::string>& wanted) {
    JsonLinesReader reader(testing::bytes_of(text), "t", wanted);
    Rows rows;
    for (std::vector<std::string_view> row; reader.next(row);) rows.emplace_back(row.begin(), row.end());
    return rows;
}

TEST(JsonLinesTest, FollowsPaths) {
    const std::string text =
        "{\"id\": 7, \"a\": {\"b\": [\"x\", {\"c\": 1.5}]}, \"ok\": true}\n\n{\"id\": \"8\", \"a\": null, \"u\": "
        "\"\\u00e4\"}\n";
    EXPECT_EQ(read(text, {"id", "a.b.0", "a.b.1.c", "ok", "u"}),
              (Rows{{"7", "x", "1.5", "true", ""}, {"8", "", "", "", "ä"}}));
    EXPECT_EQ(read("{\"a\": [1]}", {"a.5", "a.x"}), (Rows{{"", ""}}));
}

TEST(JsonLinesTest, NamesLineAndColumn) {
    const auto said = [](std::string_view text) {
        try {
            read(text, {"id", "a"});
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(said("{\"id\": 1}\n{\"a\": {}}\n").find("t, line 2, column 2 (a): an object"), std::string::npos)
        << said("{\"id\": 1}\n{\"a\": {}}\n");
    EXPECT_NE(said("{\"id\": 1}\n{\"a\": \"\xFF\"}\n").find("t, line 2"), std::string::npos);
    EXPECT_NE(said("nonsense\n").find("t, line 1"), std::string::npos);
}

}  // namespace
}  // namespace couplet
