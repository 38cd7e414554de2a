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
    CoordinatorResult result() const { return make_coordinator_result({job_, features_, schema_, said_}); }
    std::string doubted() const {
        std::string text;
        for (const Doubt& doubt : doubts_of(job_, said_)) text += doubt.client + ": " + doubt.reason + "\n";
        return text;
    }
    /// b is merged late, with features of its own.
    void merge_late(double norm2, double error2, double reported_norm2) {
        job_.late = {1};
        job_.late_results = {2};
        job_.personal_ranks.push_back(3);
        job_.reports[1] = {3, error2, reported_norm2, 0, 0, 1};
        said_.norms[1] = norm2;
        said_.bounds.emplace_back(0.9);
    }

    JobFile job_;
    FeaturesMessage features_;
    Schema schema_{{5, 4}, {}};
    Statements said_{{10, 0, 10}, {}, {0.9}};
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
    merge_late(10, 2, 10);
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
    said_.bounds = {1e-6};
    const CoordinatorResult r = result();
    EXPECT_FALSE(r.rel_error_bound);
    ASSERT_FALSE(r.doubts.empty());
    job_.spec.missing.emplace();
    EXPECT_EQ(doubted(), "") << "there is no certificate of filled entries";
}

TEST_F(CoordinatorResultTest, NormsOfCentredDataAreTheClaims) {
    job_.centred = {1, {4, 5}};
    const auto claims = claims_of(job_, job_.members, said_.norms);
    EXPECT_EQ(claims[0].client, "a");
    EXPECT_EQ(claims[0].norm2, 4);
    EXPECT_EQ(claims[1].norm2, 5);
    EXPECT_EQ(claims[1].error2, 3);
    job_.centred = {};
    EXPECT_EQ(claims_of(job_, job_.members, said_.norms)[1].norm2, 10);
}

/// A mean of one client's numbers makes everybody's centred data as large as they are.
TEST_F(CoordinatorResultTest, CentringHidesNoNorm) {
    job_.centred = {1, {4e16, 5e16}};
    job_.reports[0].norm2 = 4e16;
    job_.reports[2].norm2 = 5e16;
    EXPECT_EQ(doubted(), "");
    said_.norms[2] = 1e17;
    EXPECT_EQ(doubted(), "c: a norm of 3.16e+08, where the others have about 3.16 before centring\n");
    job_.centred.norm2[0] = job_.reports[0].norm2 = 1;
    EXPECT_EQ(doubted(), "c: a norm of 3.16e+08, where the others have about 3.16 before centring\n") << "once";
    said_.norms[2] = 10;
    EXPECT_EQ(doubted(), "c: a norm of 2.24e+08, where the others have about 1\n");
}

TEST_F(CoordinatorResultTest, WhoIsMergedLateIsHeldAgainstItsReport) {
    merge_late(10, 2, 10);
    EXPECT_EQ(doubted(), "");
    merge_late(10, 29, 10);
    EXPECT_EQ(doubted(), "b: an error of 0.983 of all norms together, where the bound is 0.9\n");
    merge_late(10, 2, 1e9);
    EXPECT_EQ(doubted(), "b: it reports a norm of 31622.8 and greeted with one of 3.16228\n");
    EXPECT_FALSE(result().rel_error_bound);
    said_.bounds[1].reset();
    EXPECT_NE(doubted(), "") << "with or without a certificate";
}

/// Each has measured the features that it got: errors of several features have no sum, and each its own bound.
TEST_F(CoordinatorResultTest, AnErrorIsHeldAgainstTheBoundOfItsOwnFeatures) {
    merge_late(10, 8, 10);
    said_.bounds = {0.5, 0.6};  // of 20 and of 30: 5 and 10.8 may be lost
    EXPECT_EQ(doubted(), "") << "4 of the members, 8 of the one who came late";
    said_.bounds = {0.4, 0.6};
    EXPECT_EQ(doubted(), "c: an error of 0.387 of all norms together, where the bound is 0.4\n");
    said_.bounds = {0.5, 0.5};
    EXPECT_EQ(doubted(), "b: an error of 0.516 of all norms together, where the bound is 0.5\n");
}

TEST_F(CoordinatorResultTest, WhoWasMergedBeforeIsDoubtedToo) {
    job_.resumed = {"old", "c"};
    said_.resumed = {10, 1e17};
    EXPECT_EQ(doubted(), "") << "c came again";
    said_.resumed = {1e17, 10};
    EXPECT_EQ(doubted(), "old: a norm of 3.16e+08, where the others have about 3.16\n");
    EXPECT_FALSE(result().rel_error_bound);
    // Errors of the members are a part of those of all: 4 of 30, where 4.8 may be lost, and 3.675.
    said_.resumed = {10, 10};
    said_.bounds = {0.4};
    EXPECT_EQ(doubted(), "");
    said_.bounds = {0.35};
    EXPECT_EQ(doubted(), "c: an error of 0.316 of all norms together, where the bound is 0.35\n");
}

TEST_F(CoordinatorResultTest, WhoCameAgainReplacesWhatWasMergedBefore) {
    job_.resumed = {"c", "old"};
    said_.resumed = {10, 10};
    const CoordinatorResult r = result();
    EXPECT_EQ(r.resumed_clients, 1);
    EXPECT_EQ(r.replaced, (std::vector<std::string>{"c"}));
}

}  // namespace
}  // namespace couplet::net
