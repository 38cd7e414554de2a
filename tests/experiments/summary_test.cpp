#include "couplet/experiments/summary.hpp"

namespace couplet {
namespace {

Row dot(const char* figure, const char* method, const char* data, double value) {
    return {.figure = figure, .method = method, .category = data, .y = {value, 0, 1}};
}

ExperimentResult comparison(double ours, double trip) {
    return {.name = "comparison",
            .rows = {dot("rse", "ctt-star", "A", ours), dot("rse", "centralized", "A", 0.1),
                     dot("rse", "printed-star", "A", 0.6), dot("rse", "trip", "A", trip), dot("rse", "dpsgd", "A", 0.9),
                     dot("rse", "fedsvd", "A", 0.1), dot("rse", "ctt-dec", "A", ours),
                     dot("bytes", "fedsvd", "A", 7000), dot("bytes", "ctt-dec", "A", 9000),
                     dot("bytes", "centralized", "A", 3000), dot("bytes", "ctt-star", "A", 1000),
                     dot("bytes", "printed-star", "A", 500), dot("bytes", "trip", "A", 4000)}};
}

std::string all(const ReportSummary& summary) {
    std::string text;
    for (const std::string& sentence : summary.sentences) text += sentence + "\n";
    return text;
}

/// "1.59 to 70,830 times" helps nobody.
TEST(SummaryTest, ASpanOfOrdersOfMagnitudeIsSaidByItsLowerEnd) {
    ExperimentResult wide = comparison(0.12, 0.3);
    for (Row row : comparison(0.12, 0.3).rows) {
        row.category = "B";
        if (row.method == "ctt-star" && row.figure == "rse") row.y.mean /= 1000;
        wide.rows.push_back(row);
    }
    const std::string text = all(summarise_results({wide}));
    EXPECT_NE(text.find("is at least 5 times smaller than that of the CTT"), std::string::npos) << text;
    EXPECT_EQ(text.find("5 to 5,000"), std::string::npos) << text;
}

TEST(SummaryTest, RatiosAreThoseOfTheRows) {
    const auto summary = summarise_results({comparison(0.12, 0.3)});
    ASSERT_EQ(summary.lines.size(), 1U);
    EXPECT_EQ(summary.lines[0].other_method, "trip");  // the best of those that train
    const std::string text = all(summary);
    EXPECT_NE(text.find("is 5 times smaller than that of the CTT of Zhang et al. 2024, with 2 times its bytes"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("It is 1.2 times"), std::string::npos) << text;
    EXPECT_NE(text.find("has 0.833 times Couplet's squared error with 7 times its bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("has 1 times the squared error of its star with 9 times its bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("(TRIP) has 2.5 times Couplet's squared error after 4 times its bytes"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("more accurate than Couplet"), std::string::npos) << text;
}

TEST(SummaryTest, AMethodThatWinsIsNamed) {
    const std::string text = all(summarise_results({comparison(0.12, 0.05)}));
    EXPECT_NE(text.find("On A TRIP is more accurate than Couplet: 0.05 against 0.12"), std::string::npos) << text;
}

TEST(SummaryTest, ExactFitsHaveNoRatio) {
    const std::string text = all(summarise_results({comparison(1e-29, 0.3)}));
    EXPECT_NE(text.find("Couplet is exact to rounding; the CTT of Zhang et al. 2024 leaves 0.6 and TRIP 0.3"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("e2"), std::string::npos) << text;
    EXPECT_EQ(text.find("is  times"), std::string::npos) << text;
    EXPECT_EQ(text.find("centralized decomposition"), std::string::npos) << text;
}

TEST(SummaryTest, SaysWhoIsAheadWithFewBytes) {
    const auto point = [](const char* method, double bytes, double rse) {
        return Row{.figure = "rse_0", .method = method, .x = bytes, .y = {rse, 0, 1}};
    };
    const ExperimentResult curve{
        .name = "error_vs_bytes",
        .figures = {{.id = "rse_0", .title = "A"}},
        .rows = {point("ctt-star", 1000, 0.4), point("ctt-star", 9000, 0.1), point("cidertf", 500, 0.3),
                 point("cidertf", 2000, 0.2), point("printed-star", 1500, 0.01)}};
    const std::string text = all(summarise_results({comparison(0.12, 0.3), curve}));
    EXPECT_NE(text.find("are ahead: on A CiderTF has 0.200 with 2,000 bytes, and Couplet 0.400."), std::string::npos)
        << text;
    ExperimentResult behind = curve;
    behind.rows[3].y.mean = 0.5;
    const std::string none = all(summarise_results({comparison(0.12, 0.3), behind}));
    EXPECT_NE(none.find("At no number of bytes is a method that trains ahead of Couplet."), std::string::npos) << none;
    behind.rows.resize(2);
    const std::string alone = all(summarise_results({comparison(0.12, 0.3), behind}));
    EXPECT_EQ(alone.find("number of bytes"), std::string::npos) << alone;
}

TEST(SummaryTest, SaysWhoFitsNewPeopleBest) {
    const auto heldout = [](double ours) {
        return ExperimentResult{.name = "heldout",
                                .rows = {dot("heldout", "ctt-star", "A", ours), dot("heldout", "trip", "A", 0.2),
                                         dot("heldout", "dpsgd", "A", 0.4), dot("heldout", "local", "A", 0.1)}};
    };
    const std::string won = all(summarise_results({comparison(0.12, 0.3), heldout(0.15)}));
    EXPECT_NE(won.find("did not take part Couplet is best, or as good as any, on A (0.150; TRIP 0.200)."),
              std::string::npos)
        << won;
    const std::string lost = all(summarise_results({comparison(0.12, 0.3), heldout(0.25)}));
    EXPECT_NE(lost.find("did not take part another method is better on A (0.250; TRIP 0.200)."), std::string::npos)
        << lost;
}

const Answer* answer(const ReportSummary& summary, const std::string& question) {
    for (const Answer& one : summary.answers) {
        if (one.question == question) return &one;
    }
    return nullptr;
}

Row paper_row(const char* figure, const char* method, double x, double ours, double paper, const char* note) {
    return {.figure = figure, .method = method, .x = x, .y = {ours, 0, 1}, .paper = paper, .note = note};
}

TEST(SummaryTest, CountsThePapersNumbersOnce) {
    const ExperimentResult ranks{
        .name = "r1_synthetic",
        .rows = {paper_row("rse", "printed-dec", 5, 0.5, 0.2, "Another evaluation."),
                 paper_row("rse_table", "printed-paper", 5, 0.205, 0.2, ""),  // the same number, the other way
                 paper_row("rse", "printed-star", 5, 0.4, 0.2, "Other data."),
                 paper_row("rse_table", "printed-star", 5, 0.4, 0.2, "Other data."),
                 paper_row("rse", "printed-star", 7, 0.4, 0.2, "Other data."),
                 paper_row("numbers", "printed-star", 5, 100, 100, ""),
                 paper_row("seconds", "printed-star", 5, 1, 9, "Another machine.")}};
    const auto summary = summarise_results({ranks});
    const Answer* one = answer(summary, "Is the paper reproduced?");
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->verdict, "In part: 2 of its 4 numbers");
    EXPECT_EQ(one->detail,
              "Within 10% are 1 of 1 counts of numbers sent and 1 of 3 errors. Its 1 times are of another machine and "
              "program: shown, not counted. "
              "Where not, and why, is below.");
    ASSERT_EQ(summary.reasons.size(), 1U);
    EXPECT_EQ(summary.reasons[0].sentence, "Other data.");
    EXPECT_EQ(summary.reasons[0].numbers, 2);
}

TEST(SummaryTest, EqualBytesAndEqualErrorAreAnswered) {
    const auto point = [](const char* method, double bytes, double rse) {
        return Row{.figure = "rse_0", .method = method, .x = bytes, .y = {rse, 0, 1}};
    };
    ExperimentResult curves{.name = "error_vs_bytes",
                            .figures = {{.id = "rse_0", .title = "A"}},
                            .rows = {point("ctt-star", 100, 0.4), point("ctt-star", 1000, 0.1),
                                     point("trip", 3000, 0.2), point("cidertf", 500, 0.6)}};
    auto summary = summarise_results({curves});
    EXPECT_EQ(answer(summary, "Who wins at equal bytes?")->verdict, "Couplet, on all 1 data sets");
    EXPECT_NE(answer(summary, "Who wins at equal bytes?")->detail.find("CiderTF on A, with 1.5 times"),
              std::string::npos);
    EXPECT_EQ(answer(summary, "Who wins at equal error?")->verdict, "Couplet, with at least 3 times fewer bytes");
    EXPECT_NE(answer(summary, "Who wins at equal error?")->detail.find("A 3 (TRIP)"), std::string::npos);
    curves.rows.push_back(point("cidertf", 200, 0.3));
    summary = summarise_results({curves});
    EXPECT_EQ(answer(summary, "Who wins at equal bytes?")->verdict, "Couplet, on 0 of 1 data sets");
    EXPECT_NE(answer(summary, "Who wins at equal bytes?")->detail.find("Ahead somewhere on A."), std::string::npos);
}

TEST(SummaryTest, NewPatientsAreAnswered) {
    const ExperimentResult heldout{.name = "heldout",
                                   .rows = {dot("heldout", "ctt-star", "A", 0.15), dot("heldout", "trip", "A", 0.2),
                                            dot("heldout", "ctt-star", "B", 0.25), dot("heldout", "trip", "B", 0.2)}};
    const auto summary = summarise_results({heldout});
    EXPECT_EQ(answer(summary, "Who wins for new patients?")->verdict, "Couplet on 1, TRIP on 1 of 2 data sets");
    EXPECT_NE(answer(summary, "Who wins for new patients?")->detail.find("B 0.250 (TRIP 0.200)"), std::string::npos);
    EXPECT_EQ(answer(summary, "Is the paper reproduced?"), nullptr);
}

TEST(SummaryTest, WithoutTheComparisonThereIsNone) {
    EXPECT_TRUE(summarise_results({{.name = "eps1"}}).lines.empty());
    EXPECT_TRUE(summarise_results({{.name = "comparison"}}).sentences.empty());
}

}  // namespace
}  // namespace couplet
