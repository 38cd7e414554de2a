#include <fmt/format.h>

#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ComparisonTest : public testing::LabTest {};

TEST_F(ComparisonTest, OursIsCentralizedOnEveryDataSet) {
    put_all();
    const auto result = run("comparison");
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3", "Synthetic, order 4", "CMS records"}) {
        const Row* ours = find_category(result, "rse", "ctt-star", data);
        const Row* all = find_category(result, "rse", "centralized", data);
        const Row* masked = find_category(result, "rse", "fedsvd", data);
        ASSERT_TRUE(ours && all && masked) << data;
        EXPECT_LE(ours->y.mean, 1.2 * all->y.mean + 1e-3) << data;
        EXPECT_NEAR(masked->y.mean, all->y.mean, 1e-6) << data;
        EXPECT_EQ(find_category(result, "rounds", "ctt-star", data)->y.mean, 2) << data;
    }
    EXPECT_EQ(find_category(result, "rse", "dpfact", "Synthetic, order 4"), nullptr);
    // The paper's text has 74%, 54% and 98%, from its table.
    ASSERT_EQ(result.findings.size(), 10U);
    EXPECT_NE(result.findings[1].find("(the paper reports 74% less"), std::string::npos) << result.findings[1];
    EXPECT_NE(result.findings[3].find("(the paper reports 54% less"), std::string::npos) << result.findings[3];
    EXPECT_NE(result.findings[5].find("(the paper reports 98% less"), std::string::npos) << result.findings[5];
    EXPECT_EQ(result.findings[7].find("paper"), std::string::npos) << result.findings[7];
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3"}) {
        EXPECT_LT(find_category(result, "rse", "printed-refit", data)->y.mean,
                  find_category(result, "rse", "printed-star", data)->y.mean)
            << data;
    }
}

TEST_F(ComparisonTest, RowsAreTheRunsTheyName) {
    put_all();
    const auto result = run("comparison");
    const auto source = clients(DataId::diabetes, 4);
    const auto expect = [&](const char* method, const SimulationResult& one) {
        EXPECT_EQ(dot(result, "rse", method, "Diabetes"), one.rse) << method;
        EXPECT_EQ(dot(result, "bytes", method, "Diabetes"), one.bytes_up + one.bytes_down) << method;
        EXPECT_EQ(dot(result, "rounds", method, "Diabetes"), static_cast<double>(one.rounds)) << method;
        EXPECT_GT(dot(result, "seconds", method, "Diabetes"), 0) << method;
    };
    expect("ctt-star", simulate(source, {.job = testing::couplet_star_job(6)}));
    expect("ctt-dec", simulate(source, {.job = testing::couplet_peers_job(6)}));
    expect("printed-star", simulate(source, {.job = testing::printed_star_job(6)}));
    JobOptions refitted = testing::printed_star_job(6);
    refitted.refit = true;
    expect("printed-refit", simulate(source, {.job = refitted}));
    expect("printed-dec", simulate(source, {.job = testing::printed_peers_job(6, 3, "complete", "magic")}));
    expect("centralized", reference_centralized(source, {.job = {.rank = 6}}));
    expect("trip", run_method(Method::trip, source, {.job = {.rank = 6, .seed = 3}}, {.rounds = 5}).simulation);
    expect("fedsvd", run_method(Method::fedsvd, source, {.job = {.rank = 6, .seed = 3}}).simulation);
    EXPECT_NE(find_category(result, "settled", "trip", "Diabetes"), nullptr);
    EXPECT_EQ(find_category(result, "settled", "fedsvd", "Diabetes"), nullptr);
    for (const Row& row : result.rows) EXPECT_FALSE(row.paper) << "the paper's numbers stand beside full data only";
    const auto text = [&](const char* method) { return rse_text(dot(result, "rse", method, "Diabetes")); };
    expect_said(result.findings[0], "Diabetes: the CTT of Zhang et al. 2024 leaves " + text("printed-star") +
                                        "; with its features, but personal cores fitted to them again, " +
                                        text("printed-refit") + "; Couplet " + text("ctt-star") + ".");
    // Time against the fastest of the others.
    const Row* fastest = nullptr;
    for (const Row& row : result.rows) {
        const bool other = row.figure == "seconds" && row.category == "Diabetes" && MethodBench::has(row.method);
        if (other && (fastest == nullptr || row.y.mean < fastest->y.mean)) fastest = &row;
    }
    const double ours = dot(result, "seconds", "ctt-star", "Diabetes");
    expect_said(result.findings[1],
                "takes " + short_number(ours) + " s; the fastest of the other methods, " +
                    std::string(method_style(fastest->method).label) + ", " + short_number(fastest->y.mean) + " s: " +
                    (ours < fastest->y.mean ? fmt::format("{:.0f}% less", 100 * (1 - ours / fastest->y.mean))
                                            : short_number(ours / fastest->y.mean) + " times as long"));
}

TEST_F(ComparisonTest, RecordsHaveNothingToDrawAgain) {
    put_all();
    const auto result = run("comparison", 2);
    EXPECT_EQ(find_category(result, "rse", "ctt-star", "CMS records")->y.count, 1);
    EXPECT_EQ(find_category(result, "rse", "ctt-star", "Diabetes")->y.count, 2);
}

}  // namespace
}  // namespace couplet
