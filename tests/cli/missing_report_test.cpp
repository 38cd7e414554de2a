#include "missing_report.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

MissingReport good() {
    return {.fraction = 0.25,
            .iterations = 17,
            .change = 4e-6,
            .settled = true,
            .means_weight = 0.05,
            .validation = 120,
            .rse_validation = 0.125,
            .rse_means = 0.5};
}

std::string text(const MissingReport& missing) {
    std::string all;
    for (const auto& [name, line] : cli::missing_rows(missing)) all += name + ": " + line + "\n";
    return all;
}

TEST(MissingReportTest, SaysEverythingInJson) {
    const cli::Json json = cli::missing_json(good());
    EXPECT_EQ(json, cli::Json({{"fraction", 0.25},
                               {"iterations", 17},
                               {"change", 4e-6},
                               {"settled", true},
                               {"means_weight", 0.05},
                               {"validation", 120},
                               {"rse_validation", 0.125},
                               {"rse_means", 0.5}}));
    auto without = good();
    without.rse_validation.reset();
    without.rse_means.reset();
    EXPECT_FALSE(cli::missing_json(without).contains("rse_validation"));
    EXPECT_FALSE(cli::missing_json(without).contains("rse_means"));
}

TEST(MissingReportTest, SaysItInWords) {
    const std::string words = text(good());
    EXPECT_NE(words.find("25.0% of the entries, filled in 17 iterations"), std::string::npos) << words;
    EXPECT_NE(words.find("weight 0.05"), std::string::npos) << words;
    EXPECT_NE(words.find("settled: yes"), std::string::npos) << words;
    EXPECT_NE(words.find("RSE 0.125 on 120 known entries"), std::string::npos) << words;
    EXPECT_EQ(words.find("worse"), std::string::npos) << words;
    EXPECT_NO_THROW(cli::require_settled(good()));
    EXPECT_NO_THROW(cli::require_settled(std::nullopt));
}

TEST(MissingReportTest, WorseThanTheMeansIsSaid) {
    auto bad = good();
    bad.rse_validation = 0.6;
    EXPECT_NE(text(bad).find("worse than the means"), std::string::npos) << text(bad);
    bad.rse_validation.reset();
    bad.rse_means.reset();
    EXPECT_NE(text(bad).find("no known entry could be spared"), std::string::npos) << text(bad);
}

TEST(MissingReportTest, WhatDidNotSettleIsAnError) {
    auto moving = good();
    moving.settled = false;
    moving.change = 0.003;
    EXPECT_NE(text(moving).find("settled: NO"), std::string::npos) << text(moving);
    try {
        cli::require_settled(moving);
        FAIL();
    } catch (const RunError& error) {
        EXPECT_NE(std::string(error.what()).find("not settled after 17 iterations"), std::string::npos) << error.what();
    }
}

TEST(MissingReportTest, WhatNobodyKnowsIsSaid) {
    EXPECT_EQ(cli::unknown_text({}), "");
    EXPECT_EQ(cli::unknown_text({.features = 1}),
              "1 feature is known of nobody: the zeros there are nobody's data, and count in no error");
    EXPECT_EQ(
        cli::unknown_text({.features = 12, .clients = {1}}),
        "12 features are known of nobody, and client 2 knows not one entry: the zeros there are nobody's data, and "
        "count in no error");
    EXPECT_TRUE(cli::unknown_text({.clients = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}})
                    .starts_with("clients 1, 2, 3, 4, 5, 6, 7, 8 and 2 more know not one entry"));
}

TEST(MissingReportTest, NothingMissingIsSaidShortly) {
    EXPECT_EQ(text({.iterations = 1, .settled = true}), "missing: nothing\n");
}

}  // namespace
}  // namespace couplet::testing
