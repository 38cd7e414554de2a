#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class Eps1Test : public testing::LabTest {};

TEST_F(Eps1Test, PrecisionPaysOnlyForOurs) {
    put_all();
    const auto result = run("eps1");
    const Row* fine = find_row(result, "rse", "ctt-star", "K = 2", 0.05);
    const Row* coarse = find_row(result, "rse", "ctt-star", "K = 2", 0.7);
    ASSERT_TRUE(fine && coarse);
    EXPECT_LT(fine->y.mean, coarse->y.mean);
    EXPECT_EQ(result.findings.size(), 1U);
}

TEST_F(Eps1Test, RowsAreTheFederationsTheyName) {
    const auto result = run("eps1");
    const auto source = clients(DataId::synthetic3, 2);
    for (const double eps1 : {0.05, 0.1, 0.3, 0.5, 0.7}) {
        const auto printed = simulate(source, {.job = testing::printed_star_job(4, eps1)});
        EXPECT_EQ(at(result, "rse", "printed-star", "K = 2", eps1), printed.rse);
        EXPECT_EQ(at(result, "numbers", "printed-star", "K = 2", eps1), printed.numbers_up_per_client);
        const auto ours = simulate(source, {.job = {.rank = 4, .eps1 = eps1, .eps2 = 0.05}});
        EXPECT_EQ(at(result, "rse", "ctt-star", "K = 2", eps1), ours.rse);
        EXPECT_EQ(at(result, "numbers", "ctt-star", "K = 2", eps1), ours.numbers_up_per_client);
    }
    EXPECT_EQ(result.rows.size(), 20U);
    const auto text = [&](const char* method, double eps1) {
        return short_number(at(result, "rse", method, "K = 2", eps1));
    };
    expect_said(result.findings[0], "the RSE of the CTT of Zhang et al. 2024 goes from " + text("printed-star", 0.1) +
                                        " to " + text("printed-star", 0.05));
    expect_said(result.findings[0], "Couplet's goes from " + text("ctt-star", 0.1) + " to " + text("ctt-star", 0.05));
}

}  // namespace
}  // namespace couplet
