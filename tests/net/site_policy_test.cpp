#include "couplet/net/site_policy.hpp"

#include <fmt/format.h>

#include "couplet/net/kit.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(Policy, IsReadBackAsItWasWritten) {
    SitePolicy policy;
    policy.min_patients = 50;
    policy.max_rank_share = 0.125;
    policy.max_directions_share = 0.75;
    policy.any_cohort = true;
    policy.aggregates = {Aggregate::subspace, Aggregate::stack};
    policy.max_heldout = 0.25;
    policy.max_sums = 3;
    policy.max_sum_width = 40;
    policy.min_others = 4;
    policy.missing = true;
    policy.secure_only = true;
    policy.min_cohort = 7;
    policy.colluders = 2;
    policy.patients_per_direction = 12.5;
    policy.mu = 2.5;
    policy.dp_epsilon = 3;
    policy.dp_delta = 1e-7;
    policy.patience = 90;
    policy.worst_verdict = "features-only";
    EXPECT_EQ(parse_policy(policy_text(policy), "p"), policy);
    EXPECT_EQ(parse_policy("", "p"), SitePolicy{});
    EXPECT_EQ(parse_policy(policy_text({}), "p"), SitePolicy{});
}

TEST(Policy, WhatCannotBeReadProtectsNobodyAndIsRefused) {
    for (const char* text :
         {"min_patients = 0", "min_patients = 1.5", "min_pateints = 5", "max_rank_share = 1.5", "max_heldout = \"x\"",
          "aggregates = \"stack\"", "aggregates = [\"mean\"]", "missing = 1", "= 3", "worst_verdict = \"fine\"",
          "min_cohort = 2", "dp_epsilon = -1", "mu = -1", "patients_per_direction = nan", "secure_only = \"yes\""}) {
        EXPECT_THROW(parse_policy(text, "policy.toml"), InputError) << text;
    }
}

TEST(Policy, SaysWhereItCannotBeRead) {
    const auto complaint = [](const std::string& text) -> std::string {
        try {
            parse_policy(text, "kit/policy.toml");
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(complaint("# mine\naggregates = [\"mean\"]").find("kit/policy.toml line 2: aggregates = "),
              std::string::npos)
        << complaint("# mine\naggregates = [\"mean\"]");
    EXPECT_NE(complaint("\n\nmax_heldout = 2\n").find("kit/policy.toml line 3: max_heldout = 2"), std::string::npos);
    EXPECT_NE(complaint("\nmin_pateints = 5").find("kit/policy.toml line 2: the key min_pateints"), std::string::npos);
    EXPECT_NE(complaint("\n= 3").find("kit/policy.toml line 2"), std::string::npos);
}

TEST(Policy, TwoTogetherRefuseWhatOneRefuses) {
    SitePolicy strict;
    strict.min_patients = 50;
    strict.aggregates = {Aggregate::subspace};
    strict.dp_epsilon = 2;
    strict.patience = 60;
    strict.worst_verdict = "features-only";
    strict.secure_only = true;
    EXPECT_EQ(stricter(strict, {}), strict);
    EXPECT_EQ(stricter({}, strict), strict);
    EXPECT_TRUE(relaxed_keys(strict).empty());
    SitePolicy loose;
    loose.max_rank_share = 0.9;
    loose.any_cohort = true;
    loose.patients_per_direction = 0;
    EXPECT_EQ(stricter(loose, {}), SitePolicy{});
    EXPECT_EQ(relaxed_keys(loose),
              (std::vector<std::string>{"max_rank_share", "any_cohort", "patients_per_direction"}));
    EXPECT_EQ(stricter(no_policy(), strict), strict);
}

using PolicyFileTest = NetTest;

TEST_F(PolicyFileTest, IsItsOwnersToWrite) {
    write_text(path("policy.toml"), "min_patients = 9\n");
    constexpr auto others = std::filesystem::perms::others_write;
    std::filesystem::permissions(path("policy.toml"), others, std::filesystem::perm_options::add);
    EXPECT_NE(complaint([&] { load_policy(path("policy.toml")); }).find("chmod go-w"), std::string::npos);
    std::filesystem::permissions(path("policy.toml"), others, std::filesystem::perm_options::remove);
    EXPECT_EQ(load_policy(path("policy.toml")).min_patients, 9);
}

TEST_F(PolicyFileTest, IsAFile) {
    std::filesystem::create_directory(path("folder"));
    EXPECT_NE(complaint([&] { load_policy(path("folder")); }).find(path("folder")), std::string::npos);
    EXPECT_NE(complaint([&] { load_policy("/dev/zero"); }).find("/dev/zero"), std::string::npos);
}

TEST(Policy, ADeltaLiesBetweenNothingAndEverything) {
    for (const char* bad : {"0", "1", "-0.1", "nan"}) {
        EXPECT_THROW(parse_policy(fmt::format("dp_delta = {}\n", bad), "p"), InputError) << bad;
    }
    EXPECT_EQ(parse_policy("dp_delta = 0.001\n", "p").dp_delta, 0.001);
}

TEST(Policy, TheFileSaysWhatEachKeyMeans) {
    const std::string text = policy_text({});
    EXPECT_TRUE(text.starts_with("# What this site answers."));
    EXPECT_NE(text.find("\nmin_patients = 6  # who take part; held-out ones are not counted\n"), std::string::npos);
    EXPECT_NE(text.find("\naggregates = [\"stack\", \"average\", \"subspace\"]\n"), std::string::npos);
    EXPECT_NE(text.find("\nany_cohort = false  # "), std::string::npos);
    EXPECT_NE(text.find("\nworst_verdict = \"membership\"  # "), std::string::npos);
    EXPECT_NE(text.find("\ndp_delta = 1e-05\n"), std::string::npos);
}

/// Whatever can be looser than the defaults is named when it is, and nothing else.
TEST(Policy, NamesEveryKeyThatAllowsMoreThanTheDefaults) {
    SitePolicy loose = no_policy();
    loose.min_cohort = 2;
    loose.min_others = -1;
    EXPECT_EQ(relaxed_keys(loose),
              (std::vector<std::string>{"min_patients", "max_rank_share", "max_directions_share", "any_cohort",
                                        "max_heldout", "max_sums", "max_sum_width", "min_others", "missing",
                                        "min_cohort", "colluders", "patients_per_direction", "mu", "worst_verdict"}));
    EXPECT_TRUE(relaxed_keys({}).empty());
    SitePolicy budget;
    budget.dp_epsilon = 3;
    budget.dp_delta = 1e-3;
    EXPECT_TRUE(relaxed_keys(budget).empty()) << "a budget of any delta is more than none";
}

}  // namespace
}  // namespace couplet::net
