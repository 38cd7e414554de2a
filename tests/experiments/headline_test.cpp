#include "couplet/experiments/headline.hpp"

namespace couplet {
namespace {

Row dot(const char* figure, const char* method, const char* category, double value, const char* variant = "") {
    return {.figure = figure, .method = method, .variant = variant, .category = category, .y = {value, 0, 1}};
}

Row point(const char* figure, const char* method, double x, double value, const char* variant = "") {
    return {.figure = figure, .method = method, .variant = variant, .x = x, .y = {value, 0, 1}};
}

TEST(HeadlineTest, TheComparisonSaysHowFarFromCentralizedAndFromThePaper) {
    ExperimentResult result{.name = "comparison",
                            .figures = {{.id = "rse", .chart = Chart::dots}},
                            .rows = {dot("rse", "ctt-star", "A", 0.103), dot("rse", "centralized", "A", 0.1),
                                     dot("rse", "printed-star", "A", 0.412), dot("rse", "ctt-star", "B", 6e-5),
                                     dot("rse", "centralized", "B", 1e-29), dot("rse", "printed-star", "B", 0.8)}};
    const Headline told = headline(result);
    EXPECT_EQ(told.figure, "rse");
    // Below what its cuts allow there is no ratio: the 3% are those of A.
    EXPECT_EQ(
        told.sentence,
        "Couplet comes within 3% of all data in one place, or below 0.0001; the CTT of Zhang et al. 2024 leaves at "
        "least 4 times its error");
    // Against an exact fit nothing is near.
    result.rows.push_back(dot("rse", "ctt-star", "C", 0.2));
    result.rows.push_back(dot("rse", "centralized", "C", 1e-29));
    result.rows.push_back(dot("rse", "printed-star", "C", 0.6));
    EXPECT_EQ(headline(result).sentence,
              "Everywhere the CTT of Zhang et al. 2024 leaves at least 3 times Couplet's error");
}

TEST(HeadlineTest, BytesNameWhoIsAhead) {
    ExperimentResult result{.name = "error_vs_bytes",
                            .figures = {{.id = "rse_2", .title = "ECG"}, {.id = "rse_3", .title = "Diabetes"}},
                            .rows = {point("rse_2", "ctt-star", 100, 0.2), point("rse_2", "trip", 200, 0.3)}};
    EXPECT_EQ(headline(result).sentence, "At no number of bytes is a method that trains ahead of Couplet");
    EXPECT_EQ(headline(result).figure, "rse_2");
    result.rows.push_back(point("rse_3", "ctt-star", 100, 0.2));
    result.rows.push_back(point("rse_3", "trip", 150, 0.1));
    EXPECT_EQ(headline(result).sentence,
              "With the same bytes a method that trains is ahead of Couplet on 1 of 2 data sets");
    EXPECT_EQ(headline(result).figure, "rse_3");
}

TEST(HeadlineTest, RanksAndClientsSayBothEnds) {
    const ExperimentResult ranks{
        .name = "r1_ecg",
        .figures = {{.id = "rse"}},
        .rows = {point("rse", "ctt-star", 40, 0.01), point("rse", "ctt-star", 5, 0.3),
                 point("rse", "printed-star", 40, 0.15), point("rse", "centralized", 40, 0.009)}};
    EXPECT_EQ(headline(ranks).sentence,
              "At R1 = 40 Couplet leaves 0.0100, all data in one place 0.00900, the CTT of Zhang et al. 2024 0.150");
    const ExperimentResult nodes{
        .name = "scalability",
        .figures = {{.id = "rse_3", .title = "Diabetes: error"}},
        .rows = {point("rse_3", "ctt-star", 2, 0.16), point("rse_3", "ctt-star", 10, 0.161),
                 point("rse_3", "printed-star", 2, 0.4), point("rse_3", "printed-star", 10, 0.65)}};
    EXPECT_EQ(headline(nodes).sentence,
              "From 2 to 10 clients Couplet's error goes from 0.160 to 0.161, that of the CTT of Zhang et al. 2024 "
              "goes from 0.400 to 0.650 (Diabetes)");
    ExperimentResult same = nodes;
    same.rows[1].y.mean = 0.16;
    EXPECT_TRUE(headline(same).sentence.starts_with("From 2 to 10 clients Couplet's error stays at 0.160, that of"));
}

TEST(HeadlineTest, OtherExperimentsSayTheirs) {
    const ExperimentResult missing{.name = "missing",
                                   .figures = {{.id = "hidden_order3"}},
                                   .rows = {point("hidden_order3", "ctt-star", 30, 0.02, "imputed"),
                                            point("hidden_order3", "ctt-star", 30, 0.4, "zeros")}};
    EXPECT_EQ(headline(missing).sentence,
              "With 30% of the entries missing (order 3), imputing leaves an error of 0.0200 on them, taking them as "
              "zeros 0.400");
    const ExperimentResult variances{
        .name = "variances",
        .figures = {{.id = "mode2", .chart = Chart::dots}},
        .rows = {dot("mode2", "centralized", "age", 0.2), dot("mode2", "ctt-star", "age", 0.201),
                 dot("mode2", "printed-star", "age", 0.25)}};
    EXPECT_EQ(
        headline(variances).sentence,
        "Couplet finds the features that matter, off by at most 0.10% of the variance; the CTT of Zhang et al. 2024 by "
        "5.0%");
    const ExperimentResult graphs{
        .name = "topology",
        .figures = {{.id = "graphs_rse", .chart = Chart::dots}},
        .rows = {dot("graphs_rse", "ctt-dec", "ring", 0.161), dot("graphs_rse", "ctt-dec", "path", 0.161),
                 dot("graphs_rse", "printed-dec", "ring", 0.6)}};
    EXPECT_EQ(headline(graphs).sentence,
              "Couplet's error on any graph is 0.161; that of the CTT of Zhang et al. 2024 reaches 0.600");
    const ExperimentResult heldout{.name = "heldout",
                                   .figures = {{.id = "heldout", .chart = Chart::dots}},
                                   .rows = {dot("heldout", "ctt-star", "A", 0.1), dot("heldout", "local", "A", 0.2),
                                            dot("heldout", "ctt-star", "B", 0.3), dot("heldout", "local", "B", 0.2)}};
    EXPECT_EQ(headline(heldout).sentence,
              "Together, clients describe new people better than alone on 1 of 2 data sets");
    const ExperimentResult classes{
        .name = "classification",
        .figures = {{.id = "personal", .chart = Chart::dots}},
        .rows = {dot("personal", "ctt-star", "kNN", 0.84), dot("personal", "majority", "same", 0.844)}};
    EXPECT_EQ(headline(classes).sentence,
              "Couplet's features classify 84.0% right; always guessing the most frequent class 84.4%");
}

TEST(HeadlineTest, WithoutItsRowsNothingIsClaimed) {
    for (const char* name : {"comparison", "error_vs_bytes", "nodes", "r1_ecg", "eps_grid", "eps1", "missing",
                             "topology", "variances", "classification", "analysis", "heldout", "unknown"}) {
        EXPECT_EQ(headline({.name = name}).sentence, "") << name;
        EXPECT_EQ(headline({.name = name}).figure, "") << name;
    }
    const ExperimentResult some{
        .name = "missing", .figures = {{.id = "other"}}, .rows = {point("other", "ctt-star", 1, 0.5)}};
    EXPECT_EQ(headline(some).figure, "other");
}

}  // namespace
}  // namespace couplet
