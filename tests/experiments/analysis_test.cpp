#include <fmt/format.h>

#include "couplet/core/operations.hpp"
#include "couplet/data/synthetic.hpp"
#include "couplet/experiments/cost_model.hpp"
#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class AnalysisTest : public testing::LabTest {};

TEST_F(AnalysisTest, PeersFollowTheFormula) {
    put_all();
    const auto result = run("analysis");
    EXPECT_EQ(result.figures.size(), 12U);
    for (const Row& row : result.rows) {
        if (row.method != "printed-dec" || !row.figure.starts_with("numbers_")) continue;
        const Row* predicted = find_row(result, row.figure, "predicted", "decentralized", row.x);
        ASSERT_NE(predicted, nullptr);
        EXPECT_EQ(row.y.mean, predicted->y.mean) << row.figure;
    }
}

TEST_F(AnalysisTest, OperationsAreCountedAndNotTimed) {
    put_all();
    const auto once = run("analysis");
    const auto again = run("analysis");
    for (const char* method : {"printed-star", "printed-dec", "ctt-star", "ctt-dec"}) {
        for (const char* figure : {"operations_K", "operations_R", "operations_I", "operations_L"}) {
            const Row* row = find_row(once, figure, method, "", 2);
            if (row == nullptr) continue;
            EXPECT_GT(row->y.mean, 0) << method;
            EXPECT_EQ(row->y.mean, find_row(again, figure, method, "", 2)->y.mean) << method << " " << figure;
        }
    }
    // Twice the iterations: another round of averages, the SVDs as before.
    const double one = find_row(once, "operations_L", "printed-dec", "", 1)->y.mean;
    const double two = find_row(once, "operations_L", "printed-dec", "", 2)->y.mean;
    // A node adds 3 operations a number for its neighbour and 2 for itself: R = 3, 16 x 16 features.
    EXPECT_EQ(two - one, 5 * 3 * 16 * 16);
}

/// Base: 2 clients, 16 x 16 x 16, R = 3, L = 2; sweeps K = 1, 2, R = 2, 3, I = 12, 16 and L = 1, 2.
TEST_F(AnalysisTest, PredictionsAreTheFormulasOfTheSweptCase) {
    const auto result = run("analysis");
    const auto star = [](double r, double i) { return r * i * r + r * i; };
    const auto peers = [](double r, double i, double l) { return l * r * i * i; };
    EXPECT_EQ(at(result, "numbers_K", "predicted", "star", 1), star(3, 16));
    EXPECT_EQ(at(result, "numbers_K", "predicted", "star", 2), star(3, 16));
    EXPECT_EQ(at(result, "numbers_R", "predicted", "star", 2), star(2, 16));
    EXPECT_EQ(at(result, "numbers_I", "predicted", "star", 12), star(3, 12));
    EXPECT_EQ(at(result, "numbers_L", "predicted", "star", 1), star(3, 16));
    EXPECT_EQ(at(result, "numbers_K", "predicted", "decentralized", 2), peers(3, 16, 2));
    EXPECT_EQ(at(result, "numbers_R", "predicted", "decentralized", 2), peers(2, 16, 2));
    EXPECT_EQ(at(result, "numbers_I", "predicted", "decentralized", 12), peers(3, 12, 2));
    EXPECT_EQ(at(result, "numbers_L", "predicted", "decentralized", 1), peers(3, 16, 1));
    // One client has no peers.
    EXPECT_EQ(find_row(result, "numbers_K", "printed-dec", "", 1), nullptr);
    EXPECT_EQ(find_row(result, "numbers_K", "predicted", "decentralized", 1), nullptr);
    for (const char* sweep : {"K", "R", "I", "L"}) {
        const double x = sweep == std::string_view("I") ? 16 : sweep == std::string_view("R") ? 3 : 2;
        // All sweeps end in the base case.
        const CostCase base{2, 8, {16, 16}, {3, 3}, 2};
        EXPECT_EQ(at(result, std::string("operations_") + sweep, "predicted", "star", x), star_operations(base) / 2);
        EXPECT_EQ(at(result, std::string("operations_") + sweep, "predicted", "decentralized", x),
                  peers_operations(base) / 2);
    }
    const SyntheticClients made({.shape = {16, 16, 16}, .cp_rank = 3, .density = 1.0, .seed = 3}, 2);
    std::vector<Tensor<double>> tensors;
    for (Index k = 0; k < 2; ++k) tensors.push_back(made.client(k));
    const MemorySource source(std::move(tensors));
    const auto expect = [&](const char* method, const JobOptions& job) {
        const OperationCount count;
        const auto one = simulate(source, {.job = job});
        EXPECT_EQ(at(result, "operations_K", method, "", 2), count.total() / 2) << method;
        EXPECT_EQ(at(result, "numbers_R", method, "", 3), one.numbers_up_per_client) << method;
        EXPECT_GT(at(result, "seconds_I", method, "", 16), 0) << method;
    };
    expect("printed-star", testing::printed_star_job(3));
    expect("printed-dec", testing::printed_peers_job(3, 2, "complete", "paper"));
    expect("ctt-star", testing::couplet_star_job(3));
    expect("ctt-dec", testing::couplet_peers_job(3));
}

TEST_F(AnalysisTest, SaysHowFarFromTheFormulasAndHowItGrows) {
    const auto result = run("analysis");
    ASSERT_EQ(result.findings.size(), 2U);
    expect_said(result.findings[0], "exactly among the peers of Zhang et al. 2024");
    double worst = 0;
    for (const Row& row : result.rows) {
        if (row.method != "printed-star" || !row.figure.starts_with("numbers_")) continue;
        worst = std::max(worst, std::abs(row.y.mean / at(result, row.figure, "predicted", "star", row.x) - 1));
    }
    expect_said(result.findings[0],
                (worst == 0 ? "exactly" : "to " + short_number(100 * worst) + "%") + " in their star");
    const auto power = [&](const char* figure, const char* method, const char* variant, double from, double to) {
        return std::log(at(result, figure, method, variant, to) / at(result, figure, method, variant, from)) /
               std::log(to / from);
    };
    expect_said(
        result.findings[1],
        fmt::format("the star of Zhang et al. 2024 grow like K^{:.1f} R^{:.1f} I^{:.1f} (its formula: "
                    "K^{:.1f} R^{:.1f} I^{:.1f})",
                    power("operations_K", "printed-star", "", 1, 2), power("operations_R", "printed-star", "", 2, 3),
                    power("operations_I", "printed-star", "", 12, 16), power("operations_K", "predicted", "star", 1, 2),
                    power("operations_R", "predicted", "star", 2, 3),
                    power("operations_I", "predicted", "star", 12, 16)));
    // One point among peers is no growth with K.
    expect_said(
        result.findings[1],
        fmt::format("peers like R^{:.1f} I^{:.1f} L^{:.1f} (formula:", power("operations_R", "printed-dec", "", 2, 3),
                    power("operations_I", "printed-dec", "", 12, 16), power("operations_L", "printed-dec", "", 1, 2)));
    EXPECT_EQ(result.findings[1].find("both fall with K"), std::string::npos) << result.findings[1];
}

}  // namespace
}  // namespace couplet
