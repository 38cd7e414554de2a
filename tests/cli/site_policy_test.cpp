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
    EXPECT_EQ(site_policy("on", kit), net::SitePolicy{});
    EXPECT_FALSE(site_policy("off", kit));
    EXPECT_THROW(site_policy(path("none.toml"), kit), InputError);
}

TEST_F(SitePolicyTest, IsHeldAgainstTheDataThatIsThere) {
    net::Consent consent = make_consent({}, Tensor<double>::zeros({5, 4, 3}));
    wire::Welcome job;
    job.spec.job.rank = 2;
    EXPECT_THROW(consent.vet({{}, job}), InputError);
    net::Consent enough = make_consent({}, Tensor<double>::zeros({6, 4, 3}));
    EXPECT_NO_THROW(enough.vet({{}, job}));
}

}  // namespace
}  // namespace couplet::cli
