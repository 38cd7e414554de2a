#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class NodesTest : public testing::LabTest {};

TEST_F(NodesTest, HasEveryMethod) {
    put_all();
    const auto result = run("nodes");
    EXPECT_EQ(result.figures.size(), 4U);
    for (const char* method : {"ctt-star", "ctt-dec", "printed-star", "printed-dec", "centralized", "trip", "dpsgd",
                               "dpfact", "fedgtf-ef", "fedgtf-ef-pc", "cidertf"}) {
        EXPECT_NE(find_row(result, "rse_diabetes", method, "", 2), nullptr) << method;
    }
    EXPECT_EQ(result.findings.size(), 2U);
}

TEST_F(NodesTest, RowsAreTheFederationsTheyName) {
    put_all();
    const auto result = run("nodes");
    for (const Index k : {2, 3}) {
        const auto source = clients(DataId::diabetes, k);
        const auto x = static_cast<double>(k);
        const char* weights = k == 2 ? "paper" : "magic";
        EXPECT_EQ(at(result, "rse_diabetes", "ctt-star", "", x),
                  simulate(source, {.job = testing::couplet_star_job(6)}).rse);
        EXPECT_EQ(at(result, "rse_diabetes", "ctt-dec", "", x),
                  simulate(source, {.job = testing::couplet_peers_job(6)}).rse);
        EXPECT_EQ(at(result, "rse_diabetes", "printed-star", "", x),
                  simulate(source, {.job = testing::printed_star_job(6)}).rse);
        EXPECT_EQ(at(result, "rse_diabetes", "printed-dec", "", x),
                  simulate(source, {.job = testing::printed_peers_job(6, 3, "complete", weights)}).rse);
        EXPECT_EQ(at(result, "rse_diabetes", "centralized", "", x),
                  reference_centralized(source, {.job = {.rank = 6}}).rse);
        EXPECT_EQ(at(result, "rse_diabetes", "trip", "", x),
                  run_method(Method::trip, source, {.job = {.rank = 6, .seed = 3}}, {.rounds = 5}).simulation.rse);
    }
    // On ECG those that train run for two clients only.
    EXPECT_NE(find_row(result, "rse_ecg", "trip", "", 2), nullptr);
    EXPECT_EQ(find_row(result, "rse_ecg", "trip", "", 3), nullptr);
    EXPECT_NE(find_row(result, "rse_ecg", "fedsvd", "", 3), nullptr);
    EXPECT_NE(find_row(result, "seconds_ecg", "ctt-star", "", 3), nullptr);
    const Row* best = nullptr;
    for (const Row& row : rows_of(result, "rse_ecg")) {
        const bool other = row.method != "ctt-star" && row.method != "ctt-dec" && row.method != "centralized";
        if (row.x == 2 && other && (best == nullptr || row.y.mean < best->y.mean))
            best = find_row(result, row.figure, row.method, row.variant, row.x);
    }
    ASSERT_NE(best, nullptr);
    expect_said(result.findings[1], "ECG, 2 clients: RSE " + short_number(at(result, "rse_ecg", "ctt-star", "", 2)) +
                                        " with Couplet in a star; the best of the others, " +
                                        std::string(method_style(best->method).label) + ", has " +
                                        short_number(best->y.mean));
}

TEST_F(NodesTest, OnTheLargerDataThoseThatTrainRunOnce) {
    put_all();
    const auto result = run("nodes", 2);
    EXPECT_EQ(find_row(result, "rse_ecg", "trip", "", 2)->y.count, 1);
    EXPECT_EQ(find_row(result, "rse_ecg", "ctt-star", "", 2)->y.count, 2);
    EXPECT_EQ(find_row(result, "rse_diabetes", "trip", "", 2)->y.count, 2);
}

}  // namespace
}  // namespace couplet
