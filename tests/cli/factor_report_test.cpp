#include "factor_report.hpp"

#include <gtest/gtest.h>

namespace couplet::testing {
namespace {

cli::SiteLoadings site(double norm2, double error2, bool measured) {
    cli::SiteLoadings made{.name = "north", .loadings = {Matrix<double>(2, 1), norm2, error2}};
    made.measured = measured;
    return made;
}

TEST(FactorReportTest, TheMeasuredErrorIsThatOfAllDataGiven) {
    cli::Factored done;
    EXPECT_FALSE(cli::measured_rse(done));
    done.sites.push_back(site(10, 1, false));
    EXPECT_FALSE(cli::measured_rse(done)) << "of projections";
    done.sites.push_back(site(10, 1, true));
    done.sites.push_back(site(30, 7, true));
    EXPECT_DOUBLE_EQ(cli::measured_rse(done).value(), 0.2);
    cli::Factored empty;
    empty.sites.push_back(site(0, 0, true));
    EXPECT_EQ(cli::measured_rse(empty).value(), 0);
}

TEST(FactorReportTest, StartsAreAveragedComponentByComponent) {
    cli::Factored done;
    done.starts = {{{1.0, 0.5}, 0.2}, {{0.8, 0.7}, 0.4}};
    done.factors.start_errors = {0.1, 0.2, 0.3};
    const cli::Json json = cli::factor_json(done, {.rows = {}});
    EXPECT_DOUBLE_EQ(json["replicability"]["starts"]["congruence"][0].get<double>(), 0.9);
    EXPECT_DOUBLE_EQ(json["replicability"]["starts"]["congruence"][1].get<double>(), 0.6);
    EXPECT_NEAR(json["replicability"]["starts"]["chance"].get<double>(), 0.3, 1e-15);
    EXPECT_FALSE(json["replicability"].contains("halves"));
    EXPECT_FALSE(json.contains("ridge"));
    done.factors.ridge = 1e-3;
    EXPECT_EQ(cli::factor_json(done, {.rows = {}})["ridge"], 1e-3);
    EXPECT_NE(cli::factor_text(done, "out").find("cancelled"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
