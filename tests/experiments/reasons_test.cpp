#include "couplet/experiments/reasons.hpp"

namespace couplet {
namespace {

Row row(const char* figure, const char* method, double ours, double paper) {
    return {.figure = figure, .method = method, .x = 5, .y = {ours, 0, 1}, .paper = paper};
}

TEST(ReasonsTest, OnlyWhatDiffersByMoreThanATenthIsExplained) {
    ExperimentResult result{.rows = {row("rse", "printed-star", 0.3, 0.25), row("rse", "printed-star", 0.26, 0.25),
                                     row("rse", "printed-dec", 0.1, 0.25), row("seconds", "printed-star", 0.01, 0.04),
                                     row("numbers", "printed-star", 3000, 2700)}};
    result.rows.push_back({.figure = "rse", .method = "ctt-star", .y = {1, 0, 1}});
    explain_differences(result, DataId::diabetes);
    EXPECT_NE(result.rows[0].note.find("20 x 24 columns"), std::string::npos);
    EXPECT_EQ(result.rows[1].note, "");
    EXPECT_NE(result.rows[2].note.find("20 x 24 columns"), std::string::npos);
    EXPECT_NE(result.rows[3].note.find("MATLAB"), std::string::npos);
    EXPECT_NE(result.rows[4].note.find("R2"), std::string::npos);
    EXPECT_EQ(result.rows[5].note, "");
}

TEST(ReasonsTest, WhoseStateServesWhomMattersWhileTheNodesDisagree) {
    Row one = row("rse", "printed-dec", 0.2, 0.34);
    one.variant = "L = 1";
    EXPECT_NE(reason(DataId::synthetic3, one).find("Z_j[L-1]"), std::string::npos);
    EXPECT_EQ(reason(DataId::synthetic3, one).find("columns"), std::string::npos);
    EXPECT_NE(reason(DataId::diabetes, one).find("columns"), std::string::npos);
    one.variant = "L = 3";
    EXPECT_EQ(reason(DataId::synthetic3, one).find("Z_j[L-1]"), std::string::npos);
}

TEST(ReasonsTest, MethodsOfOtherPapersDifferByTheirParametersAndRounds) {
    EXPECT_NE(reason(DataId::diabetes, row("rse", "dpsgd", 1, 2)).find("ours are tuned"), std::string::npos);
    EXPECT_NE(reason(DataId::ecg, row("seconds", "dpsgd", 1, 2)).find("stopping rule"), std::string::npos);
    EXPECT_EQ(reason(DataId::ecg, row("seconds", "printed-star", 1, 2)).find("stopping rule"), std::string::npos);
}

TEST(ReasonsTest, EveryDataSetMetricAndMethodHasASentence) {
    for (const DataId id : {DataId::synthetic3, DataId::synthetic4, DataId::ecg, DataId::diabetes, DataId::cms}) {
        for (const char* metric : {"rse", "numbers", "seconds", "rounds"}) {
            for (const char* method : {"printed-star", "printed-dec", "printed-paper", "dpsgd"}) {
                EXPECT_TRUE(reason(id, row(metric, method, 1, 2)).ends_with(".")) << metric << method;
            }
        }
    }
}

}  // namespace
}  // namespace couplet
