#include <fmt/format.h>

#include <algorithm>

#include "couplet/experiments/feature_variance.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class VariancesTest : public testing::LabTest {};

TEST_F(VariancesTest, PartsOfTheSum) {
    put_all();
    const auto result = run("variances");
    for (const char* figure : {"mode2", "mode3"}) {
        double sum = 0;
        for (const Row& row : rows_of(result, figure)) sum += row.method == "centralized" ? row.y.mean : 0;
        EXPECT_NEAR(sum, 1, 1e-9) << figure;
    }
    EXPECT_EQ(rows_of(result, "mode2").size(), 3U * 20U);
    ASSERT_EQ(result.findings.size(), 2U);
    const std::string largest = "the largest are " + rows_of(result, "mode2").front().category + " (";
    EXPECT_NE(result.findings[0].find(largest), std::string::npos) << result.findings[0];
    // Named features, the largest first: an axis of numbers would say nothing.
    double before = 1;
    for (const Row& row : rows_of(result, "mode2")) {
        EXPECT_FALSE(row.category.empty());
        if (row.method != "centralized") continue;
        EXPECT_LE(row.y.mean, before);
        before = row.y.mean;
    }
    EXPECT_EQ(rows_of(result, "mode3").size(), 3U * 24U);
}

TEST_F(VariancesTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("variances"); }

double share_of(const ExperimentResult& result, const std::string& figure, const std::string& method,
                const std::string& variant, const std::string& feature) {
    for (const Row& row : rows_of(result, figure)) {
        if (row.method == method && row.variant == variant && row.category == feature) return row.y.mean;
    }
    ADD_FAILURE() << figure << " " << method << " " << feature;
    return 0;
}

TEST_F(VariancesTest, RowsArePartsOfTheCoresVariances) {
    put_all();
    const auto result = run("variances");
    DataLibrary library(tiny().data, Effort::tiny);
    const std::vector<ModeLabels> names = library.open(DataId::diabetes, 3)->dataset.tensor.labels();
    const auto expect = [&](const char* method, const std::string& variant, const Features& features) {
        const auto all = feature_variances(features);
        for (std::size_t mode = 0; mode < 2; ++mode) {
            double sum = 0;
            for (const double value : all[mode]) sum += value;
            for (std::size_t i = 0; i < all[mode].size(); ++i) {
                EXPECT_DOUBLE_EQ(
                    share_of(result, mode == 0 ? "mode2" : "mode3", method, variant, names[mode + 1].entries[i]),
                    all[mode][i] / sum)
                    << method << " " << i;
            }
        }
    };
    expect("centralized", "", *reference_centralized(clients(DataId::diabetes, 1), {.job = {.rank = 6}}).features);
    const auto source = clients(DataId::diabetes, 2);
    expect("ctt-star", "K = 2", *simulate(source, {.job = testing::couplet_star_job(6)}).features);
    expect("printed-star", "K = 2", *simulate(source, {.job = testing::printed_star_job(6)}).features);
    for (const std::size_t mode : {0U, 1U}) {
        const std::string figure = mode == 0 ? "mode2" : "mode3";
        double apart[2] = {};
        std::vector<std::pair<double, std::string>> largest;  // part, name
        for (const Row& row : rows_of(result, figure)) {
            if (row.method != "centralized") continue;
            largest.emplace_back(-row.y.mean, row.category);
            apart[0] =
                std::max(apart[0], std::abs(row.y.mean - share_of(result, figure, "ctt-star", "K = 2", row.category)));
            apart[1] = std::max(apart[1],
                                std::abs(row.y.mean - share_of(result, figure, "printed-star", "K = 2", row.category)));
        }
        std::sort(largest.begin(), largest.end());
        const std::string& sentence = result.findings[mode];
        EXPECT_TRUE(sentence.starts_with("Mode " + std::to_string(mode + 2) + ": the largest are ")) << sentence;
        std::size_t position = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::string part = fmt::format("{} ({:.0f}%)", largest[i].second, -100 * largest[i].first);
            const std::size_t found = sentence.find(part);
            EXPECT_NE(found, std::string::npos) << sentence << part;
            EXPECT_GT(found, position) << sentence;
            position = found;
        }
        EXPECT_EQ(sentence.find(largest[4].second + " ("), std::string::npos) << sentence;
        expect_said(sentence,
                    fmt::format("by at most {:.4f} of the mode's sum with Couplet and {:.4f} with the CTT of Zhang",
                                apart[0], apart[1]));
    }
}

}  // namespace
}  // namespace couplet
