#include "coordinator_result.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class CoordinatorResultTest : public ::testing::Test {
  protected:
    CoordinatorResultTest() {
        job_.spec = {resolve_job({.rank = 3}), {}};
        job_.roster = {"a", "b", "c"};
        job_.members = {0, 2};
        job_.result = 1;
        job_.personal_ranks = {3, 3};
        job_.traffic = {20, 40, 200, 400};
        job_.reports[0] = {3, 1, 10, 0, 0, 2};
        job_.reports[2] = {3, 3, 10, 0, 0, 5};
        const auto x = random_tensor<double>({9, 5, 4}, 1);
        features_.features = orthonormal_features(block_train(compress_client(x.view(), {0, 0, 3}).block.get()));
        features_.rel_error_bound = 0.9;
    }
    CoordinatorResult result() const { return make_coordinator_result({job_, features_, schema_, norms_}); }

    JobFile job_;
    FeaturesMessage features_;
    Schema schema_{{5, 4}, {}};
    std::vector<double> norms_{10, 0, 10};
};

TEST_F(CoordinatorResultTest, SaysWhoIsInItAndHowWellItFits) {
    const CoordinatorResult r = result();
    EXPECT_EQ(r.members, (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(r.missing, (std::vector<std::string>{"b"}));
    EXPECT_EQ(r.rse, 0.2);
    EXPECT_EQ(r.rse_per_client, (std::vector<double>{0.1, 0.3}));
    EXPECT_EQ(r.rel_error_bound, 0.9);
    EXPECT_EQ(r.numbers_up_per_client, 10);
    EXPECT_EQ(r.numbers_total, 60);
    EXPECT_EQ(r.seconds_clients_sum, 7);
    EXPECT_EQ(r.seconds_clients_max, 5);
    EXPECT_FALSE(r.rse_heldout);
}

TEST_F(CoordinatorResultTest, ErrorsOfSomeAreNotThoseOfAll) {
    job_.reports.erase(2);
    const CoordinatorResult r = result();
    EXPECT_FALSE(r.rse);
    EXPECT_TRUE(r.rse_per_client.empty());
    EXPECT_EQ(r.seconds_clients_sum, 2);
}

TEST_F(CoordinatorResultTest, ErrorsOfSeveralFeaturesHaveNoSum) {
    job_.late = {1};
    job_.late_results = {2};
    job_.personal_ranks.push_back(3);
    job_.reports[1] = {3, 2, 10, 0, 0, 1};
    norms_[1] = 10;
    const CoordinatorResult r = result();
    EXPECT_FALSE(r.rse);
    EXPECT_EQ(r.rse_per_client, (std::vector<double>{0.1, 0.3, 0.2}));
    EXPECT_EQ(r.rse_late_merges, (std::vector<Index>{0, 0, 1}));
    EXPECT_EQ(r.late, (std::vector<std::string>{"b"}));
}

TEST_F(CoordinatorResultTest, WhereOnlySumsAreSeenNobodysErrorIsTold) {
    job_.spec.shield.emplace();
    EXPECT_FALSE(result().rse);
    EXPECT_TRUE(result().rse_per_client.empty());
}

TEST_F(CoordinatorResultTest, ADoubtTakesTheCertificateAway) {
    features_.rel_error_bound = 1e-6;
    const CoordinatorResult r = result();
    EXPECT_FALSE(r.rel_error_bound);
    ASSERT_FALSE(r.doubts.empty());
    job_.spec.missing.emplace();
    EXPECT_TRUE(doubts_of(job_, 1e-6, norms_).empty()) << "there is no certificate of filled entries";
}

TEST_F(CoordinatorResultTest, NormsOfCentredDataAreTheClaims) {
    job_.centred = {1, {4, 5}};
    const auto claims = claims_of(job_, job_.members, norms_);
    EXPECT_EQ(claims[0].client, "a");
    EXPECT_EQ(claims[0].norm2, 4);
    EXPECT_EQ(claims[1].norm2, 5);
    EXPECT_EQ(claims[1].error2, 3);
    job_.centred = {};
    EXPECT_EQ(claims_of(job_, job_.members, norms_)[1].norm2, 10);
}

TEST_F(CoordinatorResultTest, WhoCameAgainReplacesWhatWasMergedBefore) {
    job_.resumed = {"c", "old"};
    const CoordinatorResult r = result();
    EXPECT_EQ(r.resumed_clients, 1);
    EXPECT_EQ(r.replaced, (std::vector<std::string>{"c"}));
}

}  // namespace
}  // namespace couplet::net
