#include "couplet/experiments/report.hpp"

#include "couplet/experiments/gain_section.hpp"
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
         {"<!DOCTYPE html>", report_marker, "The answer", "id=\"eps1\"", "Influence of eps1", "A finding.",
          "Not run. ECG: ecg.csv", "Error &amp; &lt;more&gt;", "<svg viewBox", "class=\"contents\"", "paper 0.3",
          "+67%", "Because &lt;so&gt;.", "couplet reproduce quick eps1 -o report --seed 7 --repeats 2 --force",
          "href=\"eps1.csv\"", "href=\"eps1.json\"", "&lt; 1e-12"}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    // Everything that is not the answer or its figure is folded.
    EXPECT_EQ(page.find("<details open"), std::string::npos);
    for (const char* never : {"<script", "http:", "https:", "<more>", "<so>"})
        EXPECT_EQ(page.find(never), std::string::npos) << never;
}

TEST(ReportTest, WhatASiteGainsComesAfterTheAnswer) {
    EXPECT_EQ(render_report({example()}, {}).find("#joining"), std::string::npos);
    ExperimentResult heldout{.name = "heldout"};
    heldout.rows = {{.figure = gain_figure, .method = "local", .category = "Diabetes, site 1", .y = {0.2, 0, 1}},
                    {.figure = gain_figure, .method = "ctt-star", .category = "Diabetes, site 1", .y = {0.1, 0, 1}}};
    const std::string page = render_report({example(), heldout}, {});
    EXPECT_NE(page.find("<a href=\"#joining\">"), std::string::npos);
    EXPECT_LT(page.find("<section class=\"summary\""), page.find("<section id=\"joining\">"));
    EXPECT_LT(page.find("<section id=\"joining\">"), page.find("<section id=\"eps1\">"));
}

TEST(ReportTest, ADifferenceThatTwoFiguresShowIsToldOnce) {
    ExperimentResult result = example();
    result.figures.push_back({"rse_table", "Again", Chart::lines, {"eps1", true}, {"RSE, another way"}});
    Row again = result.rows.back();
    again.figure = "rse_table";
    result.rows.push_back(again);
    const std::string page = render_report({result}, {});
    EXPECT_NE(page.find("Because &lt;so&gt;."), std::string::npos);
    const std::string line = "<tr><th>Zhang et al., star</th><td>RSE</td><td>0.1</td><td>0.3</td>";
    const std::size_t first = page.find(line);
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(page.find(line, first + 1), std::string::npos);
}

TEST(ReportTest, AFigureWithoutRowsIsLeftOut) {
    EXPECT_EQ(render_figure(example().figures[1], {}), "");
    EXPECT_EQ(render_report({example()}, {}).find("Nothing"), std::string::npos);
    EXPECT_EQ(render_report({example()}, {.files = false}).find("eps1.csv"), std::string::npos);
}

TEST(ReportTest, CellsHoldMeanSpreadAndThePaper) {
    const std::string page = render_report({example()}, {});
    for (const char* part :
         {"<td>0.250 <small>± 0.01</small></td>", "<td>&lt; 1e-12</td>", "<td>0.500<br><small>paper 0.300</small></td>",
          "<th>Couplet, star, K = 2</th>", "<th>RSE / eps1</th><th>0.1</th><th>0.5</th>",
          "<td>0.1</td><td>0.3</td><td>0.5</td><td>+67%</td>",
          "<summary>1 number differs from the paper&#39;s by more than 10%, and why</summary>"}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(page.find("class=\"many\""), std::string::npos);
    EXPECT_NE(page.find("couplet reproduce eps1 -o report --repeats"), std::string::npos);
    EXPECT_EQ(page.find("--seed 0"), std::string::npos);
}

TEST(ReportTest, WideTablesAreScrolledAndVeryWideOnesTurned) {
    const auto page = [](int columns) {
        ExperimentResult result{.name = "eps1", .figures = {{"rse", "Error", Chart::lines, {"bytes"}, {"RSE"}}}};
        for (int i = columns; i > 0; --i) {
            result.rows.push_back(
                {.figure = "rse", .method = "ctt-star", .x = static_cast<double>(i), .y = {0.5, 0, 1}});
        }
        return render_report({result}, {});
    };
    EXPECT_EQ(page(8).find("class=\"many\""), std::string::npos);
    EXPECT_NE(page(9).find("class=\"many\""), std::string::npos);
    EXPECT_NE(page(9).find("<th>1</th><th>2</th>"), std::string::npos) << "columns are sorted";
    EXPECT_EQ(page(26).find("<tr><th>Couplet, star</th><td>26</td><td>0.500</td></tr>"), std::string::npos);
    EXPECT_NE(page(27).find("<tr><th>Couplet, star</th><td>27</td><td>0.500</td></tr>"), std::string::npos);
}

TEST(ReportTest, ParametersOfTheOthersAreTold) {
    ExperimentResult result = example();
    result.seconds = 2;
    result.threads = 1;
    EXPECT_EQ(render_report({result}, {}).find("parameters of the other methods"), std::string::npos);
    EXPECT_NE(render_report({result}, {}).find("Computed in 2 s with 1 thread."), std::string::npos);
    result.threads = 2;
    result.tunings = {{"trip", "ECG", "x", 100, "rho=0.3"}, {"dpsgd", "ECG", "x", 100, ""}};
    const std::string page = render_report({result}, {});
    for (const char* part : {"<tr><th>TRIP</th><td>ECG</td><td>100</td><td>rho=0.3</td></tr>",
                             "<td>its defaults, not tuned</td>", "with 2 threads."}) {
        EXPECT_NE(page.find(part), std::string::npos) << part;
    }
}

TEST(ReportTest, TheSummaryMarksTheLeast) {
    const auto dot = [](const char* figure, const char* method, double value) {
        return Row{.figure = figure, .method = method, .category = "A", .y = {value, 0, 1}};
    };
    const ExperimentResult comparison{.name = "comparison",
                                      .rows = {dot("rse", "ctt-star", 0.2), dot("rse", "centralized", 0.1),
                                               dot("rse", "printed-star", 0.6), dot("rse", "trip", 0.15)}};
    const std::string page = render_report({comparison}, {});
    EXPECT_NE(page.find("<tr><th>A</th><td>0.200</td><td></td><td>0.600</td><td class=\"best\">0.150 "
                        "<small>TRIP</small></td><td>0.100</td></tr>"),
              std::string::npos);
    EXPECT_NE(page.find("<li><a href=\"#comparison\">"), std::string::npos);
    EXPECT_NE(render_report({{.name = "eps1"}}, {}).find("Run the experiments <code>r1_synthetic</code>"),
              std::string::npos);
    EXPECT_NE(render_report({example()}, {}).find("Missing data. ECG: ecg.csv is not there."), std::string::npos);
}

const std::string whole_section = R"svg(
<section id="eps1">
<p class="where">Influence of eps1. Paper, Figure: effects of different values of eps1</p>
<h2>Precision brings Couplet down to 0.250; the CTT of Zhang et al. 2024 stays at 0.500</h2>
<div class="lead-part">
<figure>
<h3>Error &amp; &lt;more&gt;</h3>
</figure>
<div class="side">
<details class="words-beside">
<summary>how it was done, and what was found</summary>
<p>Error and communication as the clients&#39; precision eps1 is relaxed, for several numbers of clients, on synthetic tensors of order 3.</p>
<ul class="findings">
<li>A finding.</li>
</ul>
</details>
<p class="absent">Not run. ECG: ecg.csv is not there.</p>
</div>
</div>
<div class="folded">
<details>
<summary>1 table</summary>
<div class="tables">
<h3>Error &amp; &lt;more&gt;</h3>
<div class="scroll">
<table>
<thead>
<tr>
<th>RSE / eps1</th>
<th>0.1</th>
</tr>
</thead>
<tbody>
<tr>
<th>Couplet, star, K = 2</th>
<td>0.250 <small>± 0.01</small>
</td>
</tr>
<tr>
<th>Zhang et al., star</th>
<td>0.500<br>
<small>paper 0.300</small>
</td>
</tr>
</tbody>
</table>
</div>
</div>
</details>
<details>
<summary>1 number differs from the paper&#39;s by more than 10%, and why</summary>
<div class="scroll">
<table class="why">
<thead>
<tr>
<th>method</th>
<th>what</th>
<th>at</th>
<th>paper</th>
<th>ours</th>
<th>difference</th>
</tr>
</thead>
<tbody>
<tr class="reason">
<th colspan="6">Because &lt;so&gt;.</th>
</tr>
<tr>
<th>Zhang et al., star</th>
<td>RSE</td>
<td>0.1</td>
<td>0.3</td>
<td>0.5</td>
<td>+67%</td>
</tr>
</tbody>
</table>
</div>
</details>
<details>
<summary>parameters of the other methods</summary>
<div class="scroll">
<table class="words">
<thead>
<tr>
<th>method</th>
<th>data</th>
<th>rank</th>
<th>parameters</th>
</tr>
</thead>
<tbody>
<tr>
<th>TRIP</th>
<td>ECG</td>
<td>100</td>
<td>rho=0.3</td>
</tr>
</tbody>
</table>
</div>
</details>
<details>
<summary>run it again, files</summary>
<p class="cmd">couplet reproduce quick eps1 -o report --seed 7 --repeats 2 --force</p>
<p class="files">Numbers: <a href="eps1.csv">eps1.csv</a>, <a href="eps1.json">eps1.json</a>. Computed in 1.5 s with 2 threads.</p>
</details>
</div>
)svg";

TEST(ReportTest, ASectionFromHeadToFoot) {
    ExperimentResult result{.name = "eps1",
                            .figures = {{"rse", "Error & <more>", Chart::lines, {"eps1", true}, {"RSE", true}},
                                        {"empty", "Nothing", Chart::lines, {"x"}, {"y"}}}};
    result.rows = {
        {.figure = "rse", .method = "ctt-star", .variant = "K = 2", .x = 0.1, .y = {0.25, 0.01, 3}},
        {.figure = "rse", .method = "printed-star", .x = 0.1, .y = {0.5, 0, 3}, .paper = 0.3, .note = "Because <so>."}};
    result.findings = {"A finding."};
    result.absent = {"ECG: ecg.csv is not there."};
    result.seconds = 1.5;
    result.threads = 2;
    result.tunings = {{"trip", "ECG", "x", 100, "rho=0.3"}};
    std::string page = render_report({result}, {.seed = 7, .repeats = 2, .effort = Effort::quick});
    const std::size_t begin = page.find("<section id=\"eps1\">");
    page = page.substr(begin, page.find("</section>", begin) - begin);
    for (std::size_t at = 0; (at = page.find("<svg")) != std::string::npos;) {  // drawings have tests of their own
        page.erase(at, page.find("</svg>", at) + 6 - at);
    }
    EXPECT_EQ(testing::by_element(page), whole_section);
}

TEST(ReportTest, TheAnswerComesFirst) {
    const std::string page = render_report({example()}, {});
    const std::size_t answer = page.find("<p class=\"verdict\">No: 0 of its 1 numbers</p>");
    ASSERT_NE(answer, std::string::npos);
    EXPECT_LT(answer, page.find("<section id=\"eps1\">"));
    EXPECT_NE(page.find("where the paper is not reproduced, and why: 1 number"), std::string::npos);
    EXPECT_NE(page.find("<li><a href=\"#summary\">The answer</a></li>"), std::string::npos);
}

TEST(ReportTest, LongListsOfDotsAreShownInShortAndFoldedInFull) {
    ExperimentResult result{.name = "comparison", .figures = {{"rse", "Error", Chart::dots, {}, {"RSE", true}}}};
    for (const char* data : {"A", "B", "C", "D", "E"}) {
        for (const char* method : {"ctt-star", "centralized", "printed-star", "trip", "dpsgd", "cidertf"}) {
            result.rows.push_back(
                {.figure = "rse", .method = method, .category = data, .y = {method[0] == 't' ? 0.3 : 0.5, 0, 1}});
        }
    }
    const std::string page = render_report({result}, {});
    EXPECT_NE(page.find("RSE of each row"), std::string::npos);
    EXPECT_NE(page.find("<summary>1 more figure</summary>"), std::string::npos);
    EXPECT_LT(page.find("RSE of each row"), page.find("<summary>1 more figure</summary>"));
}

}  // namespace
}  // namespace couplet
