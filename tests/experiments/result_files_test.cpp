#include "couplet/experiments/result_files.hpp"

#include "couplet/core/error.hpp"
#include "couplet/io/csv.hpp"

namespace couplet {
namespace {

ExperimentResult example() {
    ExperimentResult result{.name = "eps1",
                            .figures = {{"rse", "Error", Chart::lines, {"x", true}, {"y"}},
                                        {"bytes", "Bytes", Chart::dots, {}, {"bytes", true}}}};
    result.rows = {{.figure = "rse",
                    .method = "ctt-star",
                    .variant = "K = 2",
                    .x = 0.1,
                    .y = {0.25, 0.01, 3},
                    .paper = 0.3,
                    .note = "because, \"quoted\""},
                   {.figure = "bytes", .method = "printed-star", .category = "ECG", .y = {1e7, 0, 1}}};
    result.findings = {"One sentence."};
    result.absent = {"ECG: nowhere"};
    result.tunings = {{"trip", "ECG", "400x110x140 K=4 norm=1.0e+02", 100, "rho=0.3"}};
    result.seconds = 1.5;
    result.threads = 2;
    return result;
}

TEST(ResultFilesTest, JsonReadsBackAsItWas) {
    const auto json = nlohmann::ordered_json::parse(to_json(example()).dump());
    EXPECT_EQ(result_from_json(json, "x"), example());
}

TEST(ResultFilesTest, DamagedJsonIsRefusedByName) {
    auto json = to_json(example());
    json["rows"][0].erase("mean");
    try {
        result_from_json(json, "eps1.json");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("eps1.json"), std::string::npos);
    }
    EXPECT_THROW(result_from_json(nlohmann::ordered_json::array(), "x"), InputError);
    json = to_json(example());
    json["figures"][0]["x"] = 3;
    EXPECT_THROW(result_from_json(json, "x"), InputError);
    json = to_json(example());
    json["tunings"][0].erase("rank");
    EXPECT_THROW(result_from_json(json, "x"), InputError);
}

TEST(ResultFilesTest, CsvIsReadByOurReader) {
    const std::string text = to_csv(example());
    CsvReader csv(std::as_bytes(std::span(text)), "eps1.csv");
    EXPECT_EQ(csv.read_header().front(), "figure");
    std::vector<std::string_view> row;
    ASSERT_TRUE(csv.next(row));
    EXPECT_EQ(row[1], "ctt-star");
    EXPECT_EQ(csv.number(row, csv.column("mean")), 0.25);
    EXPECT_EQ(csv.number(row, csv.column("paper")), 0.3);
    EXPECT_EQ(row[static_cast<std::size_t>(csv.column("note"))], "because, \"quoted\"");
    ASSERT_TRUE(csv.next(row));
    EXPECT_EQ(row[static_cast<std::size_t>(csv.column("category"))], "ECG");
    EXPECT_EQ(row[static_cast<std::size_t>(csv.column("x"))], "");
    EXPECT_FALSE(csv.next(row));
}

}  // namespace
}  // namespace couplet
