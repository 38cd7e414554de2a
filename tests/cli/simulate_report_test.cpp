#include "simulate_report.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

cli::SimulationReport small_report(Index clients) {
    cli::SimulationReport report;
    report.method = "ctt";
    report.federation.description = "a test";
    report.federation.source = std::make_unique<LazySource>(clients, [](Index) {
        return Tensor<double>::zeros({1, 1});
    });
    for (Index k = 0; k < clients; ++k) {
        report.federation.rows.push_back(10);
        report.result.personal_ranks.push_back(3);
        report.result.rse_per_client.push_back(0.01 * static_cast<double>(k + 1));
    }
    report.result.ranks = {3, 2, 1};
    report.result.rse = 0.04;
    report.result.rounds = 2;
    report.result.numbers_up_per_client = 20.5;
    report.result.numbers_total = 1000;
    return report;
}

TEST(SimulateReport, CountsAreWholeNumbersAndMeansMayNotBe) {
    const cli::Json json = cli::simulation_json(small_report(2));
    EXPECT_TRUE(json["numbers_total"].is_number_integer());
    EXPECT_EQ(json["numbers_up_per_client"], 20.5);
    EXPECT_EQ(json["rse"], 0.04);
    EXPECT_EQ(json["clients"], 2);
    for (const char* absent : {"rse_heldout", "rel_error_bound", "consensus", "dry_run", "output", "resumed_clients"}) {
        EXPECT_FALSE(json.contains(absent)) << absent;
    }
}

TEST(SimulateReport, DryRunHasNoError) {
    auto report = small_report(2);
    report.dry_run = true;
    report.result.rse_per_client.clear();
    EXPECT_FALSE(cli::simulation_json(report).contains("rse"));
    EXPECT_NE(cli::simulation_text(report).find("nothing fitted"), std::string::npos);
}

TEST(SimulateReport, LongListsAreAbbreviated) {
    const std::string twelve = cli::simulation_text(small_report(12));
    EXPECT_NE(twelve.find("client 12"), std::string::npos) << twelve;
    const std::string many = cli::simulation_text(small_report(5000));
    EXPECT_EQ(many.find("client 7 "), std::string::npos) << many;
    EXPECT_NE(many.find("... and 4,994 more; RSE of all from 0.01 to 50"), std::string::npos) << many;
}

TEST(SimulateReport, RelativeErrorIsTheRootOfTheRse) {
    const std::string text = cli::simulation_text(small_report(1));
    EXPECT_NE(text.find("0.04 (relative error 0.2)"), std::string::npos) << text;
}

}  // namespace
}  // namespace couplet::testing
