#include "site_policy.hpp"

#include "cli_test_support.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::cli {
namespace {

class SitePolicyTest : public testing::CliTest {};

TEST_F(SitePolicyTest, IsTheFlagsTheKitsOrTheDefault) {
    net::Kit kit;
    kit.folder = path("kit");
    std::filesystem::create_directories(kit.folder);
    EXPECT_EQ(site_policy("", kit), net::SitePolicy{});
    put("kit/policy.toml", "min_patients = 50\n");
    put("other.toml", "min_patients = 70\n");
    EXPECT_EQ(site_policy("", kit)->min_patients, 50);
    EXPECT_EQ(site_policy(path("other.toml"), kit)->min_patients, 70);
    EXPECT_EQ(site_policy("on", kit)->min_patients, 50) << "not weaker than what the site wrote";
    put("kit/policy.toml", "min_patients = 2\n");
    EXPECT_EQ(site_policy("on", kit), net::SitePolicy{});
    EXPECT_EQ(site_policy("", kit)->min_patients, 2);
    EXPECT_FALSE(site_policy("off", kit));
    EXPECT_THROW(site_policy(path("none.toml"), kit), InputError);
}

TEST_F(SitePolicyTest, IsHeldAgainstTheDataThatIsThere) {
    auto x = Tensor<double>::zeros({6, 4, 3});
    for (Index i = 0; i < 6; ++i) x.data()[12 * i] = static_cast<double>(i + 1);
    wire::Welcome job;
    job.spec.job.rank = 2;
    EXPECT_NO_THROW(make_consent({}, x).vet({{}, job}));
    x.data()[12] = 1;
    EXPECT_THROW(make_consent({}, x).vet({{}, job}), InputError) << "two records are alike";
    x.data()[12] = 0;
    EXPECT_THROW(make_consent({}, x).vet({{}, job}), InputError) << "one record is empty";
}

/// A job that promised little noise with its first sum and more with a later one has spent both.
TEST_F(SitePolicyTest, NoiseIsBookedWithEverySumAndOnceWhereItIsTheSame) {
    auto x = Tensor<double>::zeros({40, 4});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>((i * i * 7 + 3 * i) % 101);
    const std::optional<net::SitePolicy> policy = [] {
        net::SitePolicy strict;
        strict.dp_epsilon = 1;
        return strict;
    }();
    net::Consent consent = make_consent(*policy, x);
    net::PrivacyBook book(path("account.txt"));
    net::DisclosureLedger ledger(path("disclosed.jsonl"));
    net::Log log({}, {});
    const SumSite site{consent, book, ledger, policy, x, log};
    const Matrix<double> basis;
    const auto sum = [&](Index number, double epsilon) {
        ShieldPlan plan;
        plan.noise = plan_noise({epsilon, 1e-5}, 1, 8, NoisePlace::distributed, 3, 3, 1);
        agree_to_sum({plan, number, SubspaceIteration::Want::sketch, basis, {}, false}, "job", site);
    };
    for (const Index number : {1, 2, 3}) sum(number, 0.01);
    EXPECT_EQ(book.account().entries().size(), 1U);
    sum(4, 0.9);
    EXPECT_EQ(book.account().entries().size(), 2U);
    EXPECT_THROW(sum(5, 0.95), InputError) << "the budget is one for all of them";
}

TEST_F(SitePolicyTest, IsToldWhereItIsWeakerThanTheDefaults) {
    std::vector<std::string> lines;
    net::Log log({}, [&](std::string_view line) { lines.emplace_back(line); });
    tell_policy(net::SitePolicy{}, log);
    EXPECT_TRUE(lines.empty());
    net::SitePolicy loose;
    loose.any_cohort = true;
    loose.max_directions_share = 2;
    tell_policy(loose, log);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("max_directions_share, any_cohort"), std::string::npos) << lines[0];
    tell_policy(std::nullopt, log);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[1].find("no policy"), std::string::npos);
}

TEST_F(SitePolicyTest, ALinkThatLeadsNowhereIsNoDefault) {
    net::Kit kit;
    kit.folder = path("kit");
    std::filesystem::create_directories(kit.folder);
    std::filesystem::create_symlink(path("gone.toml"), path("kit/policy.toml"));
    EXPECT_THROW(site_policy("", kit), InputError);
}

}  // namespace
}  // namespace couplet::cli
