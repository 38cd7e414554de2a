#include "couplet/explain/components.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(ComponentsTest, NamesWhatWasMixedAndLeavesTheFitAlone) {
    const Findings mixed = testing::mixed_findings();
    const Explanation told = explain(testing::mixed_findings());
    ASSERT_EQ(told.components.size(), 3U);
    EXPECT_EQ(told.components[0].title, "asthma with inhaler");
    EXPECT_EQ(told.components[1].title, "diabetes with metformin");
    EXPECT_EQ(told.components[2].title, "otitis with amoxicillin");
    EXPECT_NEAR(told.explained, 0.8, 1e-9);
    EXPECT_NEAR(told.site_explained[1], 0.8, 1e-9);
    EXPECT_GT(told.components[2].site_shares[0], 10 * told.components[2].site_shares[1]);
    for (std::size_t k = 0; k < 2; ++k) {
        const auto fit = product<double>(mixed.sites[k].scores.view(), mixed.rows.view());
        const auto now = product<double>(told.findings.sites[k].scores.view(), told.findings.rows.view());
        for (Index i = 0; i < fit.size(); ++i) EXPECT_NEAR(fit.data()[i], now.data()[i], 1e-10);
    }
    EXPECT_EQ(told.components[1].entries[0].labels, (std::vector<std::string>{"diabetes", "metformin"}));
    EXPECT_NEAR(told.components[1].entries[0].weight, 1, 1e-6);
    EXPECT_NEAR(told.components[1].product_share, 1, 1e-6);
    EXPECT_NEAR(told.components[1].profiles[0].values[1], 1, 1e-6);
    EXPECT_FALSE(told.components[1].profiles[0].curve);
}

TEST(ComponentsTest, NamesAreWithoutTheKindBehindThem) {
    EXPECT_EQ(plain_name("Acute bronchitis (disorder)"), "Acute bronchitis");
    EXPECT_EQ(plain_name("Dialysis (regime/therapy)"), "Dialysis");
    EXPECT_EQ(plain_name("Insulin (human)"), "Insulin (human)");
    EXPECT_EQ(plain_name(" (disorder)"), " (disorder)");
}

TEST(ComponentsTest, BelowAMeanIsLowAndNotNone) {
    const auto title = [](bool centred, const char* unit) {
        Findings findings{.source = "made", .centred = centred};
        const ModeLabels lab{"lab", {"ldl", "hdl"}, {std::string(unit), std::string(unit)}};
        findings.schema = make_schema(Shape{2}, Labels{lab}, "made");
        findings.rows = Matrix<double>::zeros(1, 2);
        findings.rows(0, 0) = 0.8;
        findings.rows(0, 1) = -0.6;
        return explain(std::move(findings)).components[0].title;
    };
    EXPECT_EQ(title(true, ""), "ldl, low hdl");
    EXPECT_EQ(title(false, "mg/dL"), "ldl, low hdl");
    EXPECT_EQ(title(false, ""), "ldl, no hdl");
}

TEST(ComponentsTest, SharesAreInTheUnitsOfTheJob) {
    // Two sites of very different norms, and what is described of each.
    const auto explained_with = [](bool scale_clients) {
        Findings findings = testing::mixed_findings();
        findings.fit.scale_clients = scale_clients;
        findings.shares_of_data = true;
        const double parts[] = {0.9, 0.2};
        for (std::size_t k = 0; k < 2; ++k) {
            SiteScores& site = findings.sites[k];
            const double size = k == 0 ? 1 : 1000;
            for (Index i = 0; i < site.scores.size(); ++i) site.scores.data()[i] *= size;
            site.norm2 = squared_norm<double>(site.scores.view()) / parts[k];
        }
        return explain(std::move(findings)).explained;
    };
    EXPECT_NEAR(explained_with(true), 0.55, 1e-9);  // 1 - RSE: both clients had norm 1
    EXPECT_NEAR(explained_with(false), 0.2, 1e-3);  // 1 - RSE of all data together
}

TEST(ComponentsTest, WithoutRotationItIsAsComputed) {
    const Explanation told = explain(testing::mixed_findings(), {.rotation = Rotation::none, .entries = 2});
    EXPECT_LT(std::abs(told.components[0].entries[0].weight), 0.99);
    EXPECT_EQ(told.components[0].entries.size(), 2U);
    for (const Component& component : told.components) EXPECT_GT(component.entries[0].weight, 0);
}

TEST(ComponentsTest, PointsAlongALineAreCurves) {
    Findings findings{.source = "made"};
    findings.schema = make_schema(Shape{20, 3}, {{"time", {}, {}}, {"year", {"2019", "2020", "2021"}, {}}}, "made");
    findings.rows = Matrix<double>::zeros(1, 60);
    double norm = 0;
    for (Index i = 0; i < 60; ++i) {
        findings.rows(0, i) = std::sin(0.4 * static_cast<double>(i / 3)) * (i % 3 == 0 ? 0.2 : -1.0);
        norm += findings.rows(0, i) * findings.rows(0, i);
    }
    for (Index i = 0; i < 60; ++i) findings.rows(0, i) /= std::sqrt(norm);
    const Explanation told = explain(std::move(findings));
    const Component& component = told.components[0];
    EXPECT_TRUE(component.profiles[0].curve);
    EXPECT_TRUE(component.profiles[1].curve);
    EXPECT_NEAR(component.product_share, 1, 1e-9);
    EXPECT_EQ(component.title, "Strongest at time 5, year 2020");
    // The profiles' product is the component, signs included.
    for (std::size_t i = 0; i < 20; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            EXPECT_NEAR(component.profiles[0].values[i] * component.profiles[1].values[j],
                        told.findings.rows(0, static_cast<Index>(3 * i + j)), 1e-6);
        }
    }
    EXPECT_EQ(label_of(told.findings.schema, 0, 4), "5");
    // Codes that are numbers are names.
    Findings coded = testing::mixed_findings();
    coded.schema.modes[0].entries = {"401", "250", "382", "274"};
    const Component numbered = explain(std::move(coded)).components[0];
    EXPECT_FALSE(numbered.profiles[0].curve);
    EXPECT_EQ(numbered.title, "condition 401 with inhaler");
    // Also where they happen to go up; hours may go up in any steps.
    Findings up = testing::mixed_findings();
    up.schema.modes[0].entries = {"250", "274", "382", "401"};
    EXPECT_FALSE(explain(std::move(up)).components[0].profiles[0].curve);
    Findings hours = testing::mixed_findings();
    hours.schema.modes[0].entries = {"0", "1", "4", "24"};
    hours.schema.modes[0].units = {"h", "h", "h", "h"};
    EXPECT_TRUE(explain(std::move(hours)).components[0].profiles[0].curve);
    EXPECT_EQ(mode_name(make_schema(Shape{2}, {}, "x"), 0), "mode 2");
}

TEST(ComponentsTest, NumbersSignsAndNamesFollowFromTheFeaturesAlone) {
    const Explanation all = explain(testing::paired_findings());
    Findings alone = testing::paired_findings();  // as at the coordinator: nobody's coordinates
    alone.sites.clear();
    Findings one = testing::paired_findings();  // as at a site where the second pattern is the larger
    one.sites.resize(1);
    for (Index p = 0; p < 60; ++p) one.sites[0].scores(p, 1) = 5;
    for (Findings* party : {&alone, &one}) {
        const Explanation told = explain(std::move(*party));
        ASSERT_EQ(told.components.size(), all.components.size());
        for (std::size_t r = 0; r < told.components.size(); ++r) {
            EXPECT_EQ(told.components[r].title, all.components[r].title);
            for (Index i = 0; i < 9; ++i) {
                EXPECT_EQ(told.findings.rows(static_cast<Index>(r), i), all.findings.rows(static_cast<Index>(r), i));
            }
        }
    }
    EXPECT_EQ(all.components[0].title, "asthma with inhaler");
    EXPECT_EQ(all.components[0].pairs.front().patients, 38);
}

TEST(ComponentsTest, WhatEveryPatientHasIsNoEntry) {
    Findings findings = testing::paired_findings();
    findings.rows(0, 4) = findings.rows(0, 1) = std::sqrt(0.5);  // asthma with inhaler, (any) with inhaler
    const Explanation told = explain(std::move(findings), {.rotation = Rotation::none});
    for (const Component& component : told.components) {
        for (const NamedEntry& entry : component.entries) {
            for (const std::string& label : entry.labels) EXPECT_NE(label, "(any)");
        }
        for (const ModeProfile& profile : component.profiles) EXPECT_EQ(profile.values[0], 0);
    }
}

}  // namespace
}  // namespace couplet
