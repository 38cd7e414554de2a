#include "r1_sweep.hpp"

#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/paper_numbers.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class R1SweepTest : public testing::LabTest {};

/// The printed numbers stand beside full-sized data, and what differs is explained.
TEST_F(R1SweepTest, ThePapersNumbersAreBesideOurs) {
    Lab lab({.seed = 1, .repeats = 1, .effort = Effort::quick, .data = folder_});
    const auto result = run_r1_sweep({.name = "r1_synthetic", .data = DataId::synthetic3, .ranks = {5, 10}}, lab);
    const Row* star = find_row(result, "rse", "printed-star", "", 10);
    ASSERT_NE(star, nullptr);
    EXPECT_EQ(star->paper, 0.1832);
    EXPECT_NEAR(star->y.mean, 0.19, 0.03);
    const Row* table = find_row(result, "rse_table", "printed-paper", "L = 1", 10);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->paper, 0.3587);
    EXPECT_NEAR(table->y.mean, 0.3587, 0.06);
    // The paper prints ten errors and ten numbers for two ranks.
    ASSERT_EQ(result.findings.size(), 2U);
    EXPECT_NE(result.findings[1].find("of 10 errors as printed"), std::string::npos) << result.findings[1];
    EXPECT_NE(result.findings[1].find("of 10 numbers of communication"), std::string::npos) << result.findings[1];
    std::map<std::string, int> near;
    for (const Row& row : result.rows) {
        if (row.paper && std::abs(row.y.mean / *row.paper - 1) <= 0.1) ++near[row.figure];
    }
    expect_said(result.findings[1], std::to_string(near["rse"]) + " of 10 errors as printed, " +
                                        std::to_string(near["rse_table"]) + " of 10 when evaluated as its tables");
    expect_said(result.findings[1], std::to_string(near["numbers"]) + " of 10 numbers of communication");
    // Each of the paper's numbers is beside its row.
    const PaperTable& paper = *paper_r1_table(DataId::synthetic3);
    for (const auto& [rank, column] : {std::pair{5.0, 0U}, std::pair{10.0, 2U}}) {
        for (std::size_t l = 0; l <= 4; ++l) {
            const std::string variant = l == 0 ? "" : "L = " + std::to_string(l);
            const std::string method = l == 0 ? "printed-star" : "printed-dec";
            const std::string evaluated = l == 0 ? "printed-star" : "printed-paper";
            EXPECT_EQ(find_row(result, "rse", method, variant, rank)->paper, paper.rse[l][column]);
            EXPECT_EQ(find_row(result, "rse_table", evaluated, variant, rank)->paper, paper.rse[l][column]);
            EXPECT_EQ(find_row(result, "numbers", method, variant, rank)->paper, paper.numbers[l][column]);
            EXPECT_EQ(find_row(result, "seconds", method, variant, rank)->paper, paper.seconds[l][column]);
        }
    }
    for (const Row& row : result.rows) {
        const bool differs = row.paper && std::abs(row.y.mean / *row.paper - 1) > 0.1;
        EXPECT_EQ(differs, !row.note.empty()) << row.figure << " " << row.method << " " << row.variant;
    }
}

TEST_F(R1SweepTest, RepeatsAreOtherData) {
    Lab lab(tiny(3));
    const auto result = run_r1_sweep({.name = "x", .data = DataId::synthetic3, .clients = 3, .ranks = {3}}, lab);
    const Row* star = find_row(result, "rse", "printed-star", "", 3);
    ASSERT_NE(star, nullptr);
    EXPECT_EQ(star->y.count, 3);
    EXPECT_GT(star->y.sd, 0);
}

TEST_F(R1SweepTest, RowsAreTheFederationsTheyName) {
    Lab lab(tiny());
    const auto result = run_r1_sweep({.name = "r1", .data = DataId::synthetic3, .clients = 3, .ranks = {2, 4}}, lab);
    const auto source = clients(DataId::synthetic3, 3);
    for (const Index rank : {2, 4}) {
        const auto x = static_cast<double>(rank);
        const auto expect = [&](const char* method, const std::string& variant, const SimulationResult& one) {
            EXPECT_EQ(at(result, "rse", method, variant, x), one.rse) << method << variant;
            EXPECT_EQ(at(result, "numbers", method, variant, x), one.numbers_up_per_client) << method << variant;
            EXPECT_GT(at(result, "seconds", method, variant, x), 0) << method << variant;
        };
        const auto star = simulate(source, {.job = testing::printed_star_job(rank)});
        expect("printed-star", "", star);
        EXPECT_EQ(at(result, "rse_table", "printed-star", "", x), star.rse);
        JobOptions refitted = testing::printed_star_job(rank);
        refitted.refit = true;
        EXPECT_EQ(at(result, "rse", "printed-refit", "", x), simulate(source, {.job = refitted}).rse);
        for (Index l = 1; l <= 4; ++l) {
            const std::string variant = "L = " + std::to_string(l);
            const JobOptions peers = testing::printed_peers_job(rank, l, "complete", "magic");
            expect("printed-dec", variant, simulate(source, {.job = peers}));
            EXPECT_EQ(at(result, "rse_table", "printed-paper", variant, x), table_rse(source, peers));
        }
        JobOptions ours = testing::couplet_star_job(rank);
        ours.seed = 3;
        expect("ctt-star", "", simulate(source, {.job = ours}));
        JobOptions sums = testing::couplet_peers_job(rank);
        sums.seed = 3;
        expect("ctt-dec", "", simulate(source, {.job = sums}));
        EXPECT_EQ(at(result, "rse", "centralized", "", x), reference_centralized(source, {.job = {.rank = rank}}).rse);
    }
    EXPECT_EQ(find_row(result, "rse", "printed-dec", "L = 5", 4), nullptr);
    ASSERT_EQ(result.findings.size(), 1U);  // no paper beside tiny data
    const double printed = at(result, "rse", "printed-star", "", 4);
    const double ours = at(result, "rse", "ctt-star", "", 4);
    expect_said(result.findings[0], "At R1 = 4 the CTT of Zhang et al. 2024 leaves an RSE of " + short_number(printed) +
                                        ", Couplet " + short_number(ours) + ": " + short_number(printed / ours) +
                                        " times less");
}

/// At the rank of the data nothing but the precision of the messages is lost: errors are not compared to rounding.
TEST_F(R1SweepTest, ExactFitsAreCalledExact) {
    Lab lab(tiny());
    const auto result = run_r1_sweep({.name = "r1", .data = DataId::synthetic3, .clients = 2, .ranks = {6}}, lab);
    ASSERT_EQ(result.findings.size(), 1U);
    expect_said(
        result.findings[0],
        "At R1 = 6, the rank of the data, centralized TT-SVD is exact to rounding; Couplet leaves what its eps1 "
        "and eps2 allow, an RSE of " +
            short_number(at(result, "rse", "ctt-star", "", 6)) + ", the CTT of Zhang et al. 2024 " +
            short_number(at(result, "rse", "printed-star", "", 6)));
    EXPECT_LE(at(result, "rse", "ctt-star", "", 6), 2e-4);
}

}  // namespace
}  // namespace couplet
