#include "couplet/experiments/report.hpp"

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

ExperimentResult example() {
    ExperimentResult result{.name = "eps1",
                            .figures = {{"rse", "Error & <more>", Chart::lines, {"eps1", true}, {"RSE", true}},
                                        {"empty", "Nothing", Chart::lines, {"x"}, {"y"}}}};
    result.rows = {
        {.figure = "rse", .method = "ctt-star", .variant = "K = 2", .x = 0.1, .y = {0.25, 0.01, 3}},
        {.figure = "rse", .method = "ctt-star", .variant = "K = 2", .x = 0.5, .y = {1e-25, 0, 3}},
        {.figure = "rse", .method = "printed-star", .x = 0.1, .y = {0.5, 0, 3}, .paper = 0.3, .note = "Because <so>."}};
    result.findings = {"A finding."};
    result.absent = {"ECG: ecg.csv is not there."};
    return result;
}

TEST(ReportTest, APageHoldsSummaryFiguresTablesAndCommands) {
    const std::string page = render_report({example()}, {.seed = 7, .repeats = 2, .effort = Effort::quick});
    for (const char* part :
         {"<!DOCTYPE html>", report_marker, "Who wins", "id=\"eps1\"", "Influence of eps1", "A finding.",
          "Not run. ECG: ecg.csv", "Error &amp; &lt;more&gt;", "<svg viewBox", "class=\"legend\"", "paper 0.3", "+67%",
          "Because &lt;so&gt;.", "couplet reproduce quick eps1 -o report --seed 7 --repeats 2 --force",
          "href=\"eps1.csv\"", "href=\"eps1.json\"", "&lt; 1e-12"}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    for (const char* never : {"<script", "http:", "https:", "<more>", "<so>"})
        EXPECT_EQ(page.find(never), std::string::npos) << never;
}

TEST(ReportTest, ADifferenceThatTwoFiguresShowIsToldOnce) {
    ExperimentResult result = example();
    result.figures.push_back({"rse_table", "Again", Chart::lines, {"eps1", true}, {"RSE, another way"}});
    Row again = result.rows.back();
    again.figure = "rse_table";
    result.rows.push_back(again);
    const std::string page = render_report({result}, {});
    EXPECT_NE(page.find("Because &lt;so&gt;."), std::string::npos);
    const std::string line = "<tr><th>printed, star</th><td>RSE</td><td>0.1</td><td>0.3</td>";
    const std::size_t first = page.find(line);
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(page.find(line, first + 1), std::string::npos);
}

TEST(ReportTest, AFigureWithoutRowsIsLeftOut) {
    EXPECT_EQ(render_figure(example().figures[1], {}), "");
    EXPECT_EQ(render_report({example()}, {}).find("Nothing"), std::string::npos);
    EXPECT_EQ(render_report({example()}, {.files = false}).find("eps1.csv"), std::string::npos);
}

}  // namespace
}  // namespace couplet
