#include "merged_result.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

class MergedResultTest : public CliTest {
  protected:
    MergedResultTest() {
        EXPECT_EQ(couplet({"simulate", "--synthetic", "30x5x4:rank=3,noise=0.1", "--clients", "2", "--rank", "3", "-o",
                           "fit", "--quiet"})
                      .status,
                  0);
    }
    cli::MergedResult read(const std::string& name) const { return cli::read_merged_result(path(name), session_); }
    cli::Session session_{{.quiet = true}, "couplet factor"};
};

TEST_F(MergedResultTest, FeaturesWeightsAndEverybodysCores) {
    const auto result = read("fit");
    EXPECT_EQ(result.rows.features.left_rank(), 3);
    EXPECT_GT(result.rows.norm(), 0);
    EXPECT_TRUE(result.all_sites);
    EXPECT_EQ(result.personal().size(), 2U);
    EXPECT_EQ(result.personal()[1].rows, 15);
    EXPECT_TRUE(result.bound);
    EXPECT_TRUE(result.rse);
    EXPECT_LE(*result.rse, *result.bound * *result.bound);
    EXPECT_EQ(read("fit/features.npz").print, result.print);
}

TEST_F(MergedResultTest, SomeSitesAreNotAll) {
    std::filesystem::remove(path("fit/personal_2.npz"));
    const auto result = read("fit");
    EXPECT_EQ(result.sites.size(), 1U);
    EXPECT_FALSE(result.all_sites);
    EXPECT_TRUE(result.personal().empty());
    EXPECT_FALSE(result.rse) << "of patients who are not here";
}

TEST_F(MergedResultTest, CoresOfAnotherRunAreRefused) {
    EXPECT_EQ(couplet({"simulate", "--synthetic", "30x5x4:rank=3", "--clients", "2", "--rank", "3", "--seed", "9", "-o",
                       "other", "--quiet"})
                  .status,
              0);
    std::filesystem::copy(path("other/personal_1.npz"), path("fit/personal_1.npz"),
                          std::filesystem::copy_options::overwrite_existing);
    EXPECT_THROW(read("fit"), InputError);
    EXPECT_THROW(read("nowhere"), InputError);
    EXPECT_THROW(read("fit/personal_2.npz"), InputError);
}

}  // namespace
}  // namespace couplet::testing
