#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ScalabilityTest : public testing::LabTest {};

TEST_F(ScalabilityTest, FourDataSets) {
    put_all();
    const auto result = run("scalability");
    EXPECT_EQ(result.figures.size(), 12U);
    EXPECT_EQ(result.findings.size(), 4U);
}

TEST_F(ScalabilityTest, RowsAreTheFederationsTheyName) {
    put_all();
    const auto result = run("scalability");
    const std::string name = std::to_string(static_cast<int>(DataId::diabetes));
    for (const Index k : {2, 3}) {
        const auto source = clients(DataId::diabetes, k);
        const auto expect = [&](const char* method, const std::string& variant, const JobOptions& job) {
            const auto one = simulate(source, {.job = job});
            const auto x = static_cast<double>(k);
            EXPECT_EQ(at(result, "rse_" + name, method, variant, x), one.rse) << method << variant;
            EXPECT_EQ(at(result, "numbers_" + name, method, variant, x), one.numbers_up_per_client) << method;
            EXPECT_GT(at(result, "seconds_" + name, method, variant, x), 0);
        };
        expect("ctt-star", "", testing::couplet_star_job(6));
        expect("ctt-dec", "", testing::couplet_peers_job(6));
        expect("printed-star", "", testing::printed_star_job(6));
        for (Index l = 1; l <= 4; ++l) {
            expect("printed-dec", "L = " + std::to_string(l),
                   testing::printed_peers_job(6, l, "complete", k == 2 ? "paper" : "magic"));
        }
    }
    EXPECT_EQ(rows_of(result, "rse_" + name).size(), 14U);
    const auto text = [&](const char* method, double k) { return rse_text(at(result, "rse_" + name, method, "", k)); };
    expect_said(result.findings[1],
                "Diabetes, from 2 to 3 clients: the RSE of the CTT of Zhang et al. 2024 goes from " +
                    text("printed-star", 2) + " to " + text("printed-star", 3) + ", Couplet's from " +
                    text("ctt-star", 2) + " to " + text("ctt-star", 3));
    const auto seconds = [&](const char* method, double k) {
        return short_number(at(result, "seconds_" + name, method, "", k));
    };
    expect_said(result.findings[1], "its time from " + seconds("printed-star", 2) + " to " +
                                        seconds("printed-star", 3) + " s, Couplet's from " + seconds("ctt-star", 2) +
                                        " to " + seconds("ctt-star", 3) + " s");
}

}  // namespace
}  // namespace couplet
