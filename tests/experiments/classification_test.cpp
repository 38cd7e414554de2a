#include <fmt/format.h>

#include "couplet/experiments/classify.hpp"
#include "couplet/experiments/feature_variance.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ClassificationTest : public testing::LabTest {};

TEST_F(ClassificationTest, AccuraciesAreParts) {
    put_all();
    const auto result = run("classification");
    for (const Row& row : result.rows) {
        EXPECT_GE(row.y.mean, 0);
        EXPECT_LE(row.y.mean, 1);
    }
    EXPECT_NE(find_row(result, "clients", "ctt-star", "test", 2), nullptr);
    EXPECT_EQ(result.findings.size(), 2U);
    EXPECT_NE(find_row(result, "features", "centralized", "", 5), nullptr);
    EXPECT_NE(find_category(result, "personal", "majority", "always the same class"), nullptr);
}

TEST_F(ClassificationTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("classification"); }

TEST_F(ClassificationTest, RowsAreTheScoresTheyName) {
    put_all();
    const auto result = run("classification");
    DataLibrary library(folder_, Effort::tiny);
    const auto data = library.open(DataId::diabetes, 3);
    const auto scores = classify(data->dataset, {.rank = 6, .features = {5}, .splits = 2, .clients = {2}, .seed = 3});
    std::size_t found = 0;
    double best = 0;
    double apart = 0;
    double centralized = 0;
    for (const auto& score : scores.scores) {
        best = std::max(best, score.test.mean);
        const std::string method = score.method == "ctt"       ? "ctt-star"
                                   : score.method == "printed" ? "printed-star"
                                                               : "centralized";
        if (score.classifier == Classifier::knn_features) {
            EXPECT_EQ(find_row(result, "clients", method, "training", 2)->y, score.training) << method;
            EXPECT_EQ(find_row(result, "clients", method, "test", 2)->y, score.test) << method;
            EXPECT_EQ(find_row(result, "features", method, "", 5)->y, score.test) << method;
            if (method == "centralized") centralized = score.test.mean;
            found += 3;
        } else {
            const char* category =
                score.classifier == Classifier::knn_personal ? "k nearest neighbours" : "logistic regression";
            EXPECT_EQ(find_category(result, "personal", method, category)->y, score.test) << method;
            ++found;
        }
    }
    for (const auto& score : scores.scores) {
        if (score.classifier == Classifier::knn_features && score.method == "ctt") {
            apart = std::abs(score.test.mean - centralized);
        }
    }
    EXPECT_EQ(find_category(result, "personal", "majority", "always the same class")->y, scores.majority);
    EXPECT_EQ(result.rows.size(), found + 1);
    expect_said(result.findings[0],
                fmt::format("within {:.1f} points of centralized ones. But always guessing the most "
                            "frequent class is right for {:.1f}% of the people, and the best of all "
                            "classifiers here for {:.1f}%",
                            100 * apart, 100 * scores.majority.mean, 100 * best));
    const auto kept = most_variable(
        feature_variances(*reference_centralized(clients(DataId::diabetes, 1), {.job = {.rank = 6}}).features), 5);
    Index first = 0;
    for (const FeatureIndex& index : kept) first += index.mode == 0 ? 1 : 0;
    expect_said(result.findings[1], "Of the 5 indices of largest variance (");
    expect_said(result.findings[1],
                fmt::format(") {} are physiological indicators (mode 2) and {} habits (mode 3)", first, 5 - first));
}

}  // namespace
}  // namespace couplet
