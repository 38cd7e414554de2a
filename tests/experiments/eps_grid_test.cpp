#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class EpsGridTest : public testing::LabTest {};

TEST_F(EpsGridTest, CoversBothDataSets) {
    put_all();
    const auto result = run("eps_grid");
    EXPECT_EQ(result.figures.size(), 4U);
    // A coarser client sends less.
    const Row* fine = find_row(result, "numbers_synthetic", "printed-star", "eps2 = 0.05", 0.1);
    const Row* coarse = find_row(result, "numbers_synthetic", "printed-star", "eps2 = 0.05", 0.5);
    ASSERT_TRUE(fine && coarse);
    EXPECT_LE(coarse->y.mean, fine->y.mean);
}

TEST_F(EpsGridTest, RowsAreTheFederationsTheyName) {
    put_all();
    const auto result = run("eps_grid");
    struct Case {
        DataId id;
        const char* suffix;
        Index rank;
    };
    std::size_t sentence = 0;
    for (const auto& [id, suffix, rank] :
         {Case{DataId::synthetic3, "synthetic", 4}, Case{DataId::diabetes, "diabetes", 6}}) {
        const auto source = clients(id, 4);
        double low[2] = {INFINITY, INFINITY};
        double high[2] = {0, 0};
        for (const double eps1 : {0.1, 0.5}) {
            const auto printed = simulate(source, {.job = testing::printed_star_job(rank, eps1, 0.05)});
            const auto ours = simulate(source, {.job = {.rank = rank, .eps1 = eps1, .eps2 = 0.05}});
            const std::string rse = std::string("rse_") + suffix;
            const std::string numbers = std::string("numbers_") + suffix;
            EXPECT_EQ(at(result, rse, "printed-star", "eps2 = 0.05", eps1), printed.rse);
            EXPECT_EQ(at(result, rse, "ctt-star", "eps2 = 0.05", eps1), ours.rse);
            EXPECT_EQ(at(result, numbers, "printed-star", "eps2 = 0.05", eps1), printed.numbers_up_per_client);
            EXPECT_EQ(at(result, numbers, "ctt-star", "eps2 = 0.05", eps1), ours.numbers_up_per_client);
            for (const int which : {0, 1}) {
                low[which] = std::min(low[which], which == 0 ? printed.rse : ours.rse);
                high[which] = std::max(high[which], which == 0 ? printed.rse : ours.rse);
            }
        }
        expect_said(result.findings.at(sentence),
                    "the RSE of the CTT of Zhang et al. 2024 lies between " + rse_text(low[0]) + " and " +
                        rse_text(high[0]) + ", Couplet's between " + rse_text(low[1]) + " and " + rse_text(high[1]));
        expect_said(result.findings.at(sentence++), "leave it " + short_number(low[0] / low[1]));
    }
    EXPECT_EQ(result.rows.size(), 16U);
}

TEST_F(EpsGridTest, WithoutTheFileTheOtherDataSetIsLeft) {
    const auto result = run("eps_grid");
    EXPECT_EQ(result.figures.size(), 2U);
    EXPECT_EQ(result.findings.size(), 1U);
    ASSERT_EQ(result.absent.size(), 1U);
}

}  // namespace
}  // namespace couplet
