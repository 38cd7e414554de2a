#include "contributions.hpp"

#include "net_test_support.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

class ContributionsTest : public NetTest {
  protected:
    ContributionsTest() : folder_(path("job")) {
        job_.spec = {resolve_job({.rank = 3}), {}};
        job_.roster = {"a", "b", "c"};
        job_.members = {0, 2};
        job_.result = 2;
        job_.late = {1};
        job_.late_results = {3};
        job_.resumed = {"old", "c"};
        keep(2, 0, 10);
        keep(2, 2, 11);
        keep(3, 1, 12);
        folder_.keep_resumed(0, state(13));
        folder_.keep_resumed(1, state(14));
    }
    static Upload upload(Index rows) {
        const auto x = random_tensor<double>({rows, 5, 4}, 1);
        return compress_client(x.view(), {0, 0, 3});
    }
    static MergeState state(Index rows) { return {upload(rows).block->clone(), Ledger{1, rows, 1, 0, 0, 0}}; }
    void keep(std::uint32_t attempt, Index place, Index rows) {
        save_message(folder_.reply({attempt, 1, place}), {{}, upload(rows)});
    }
    static std::vector<Index> rows_of(const std::vector<Contribution>& some) {
        std::vector<Index> rows;
        for (const Contribution& one : some) rows.push_back(one.state.ledger.rows);
        return rows;
    }
    JobFolder folder_;
    JobFile job_;
};

TEST_F(ContributionsTest, AreInTheOrderOfMergingAndWhoCameAgainCountsOnce) {
    std::vector<std::string> names;
    std::vector<Index> rows;
    for (const Contribution& one : contributions(job_, folder_)) {
        names.push_back(one.client);
        rows.push_back(one.state.ledger.rows);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"old", "a", "c", "b"}));
    EXPECT_EQ(rows, (std::vector<Index>{13, 10, 11, 12}));
}

TEST_F(ContributionsTest, WhoSendsAgainIsLeftOut) {
    EXPECT_EQ(rows_of(contributions_of_others(job_, folder_, {1})), (std::vector<Index>{13, 10, 11}));
    EXPECT_EQ(rows_of(contributions_of_others(job_, folder_, {0, 1, 2})), (std::vector<Index>{13}));
    EXPECT_EQ(rows_of(contributions_before(job_, folder_, {0, 1})), (std::vector<Index>{13, 14}))
        << "c is not among these members";
    EXPECT_EQ(rows_of(contributions_before(job_, folder_, {0, 2})), (std::vector<Index>{13}));
    EXPECT_EQ(contributions_of_others(job_, folder_, {1}).back().client, "c");
}

TEST_F(ContributionsTest, AClientThatCameLateWasMergedWithThoseBeforeIt) {
    job_.resumed = {"b", "old"};
    job_.late = {1, 3};
    job_.late_results = {3, 4};
    job_.roster.emplace_back("d");
    keep(4, 3, 15);
    EXPECT_EQ(rows_of(contributions_before_late(job_, folder_, 0)), (std::vector<Index>{14, 10, 11}))
        << "what it sent for another job is replaced";
    EXPECT_EQ(rows_of(contributions_before_late(job_, folder_, 1)), (std::vector<Index>{14, 10, 11, 12}));
}

TEST_F(ContributionsTest, UploadsOfTheResultStay) {
    EXPECT_EQ(merged_uploads(job_), (std::set<std::pair<std::uint32_t, Index>>{{2, 0}, {2, 2}, {3, 1}}));
    job_.spec.job.aggregate = Aggregate::average;
    EXPECT_TRUE(merged_uploads(job_).empty());
    EXPECT_TRUE(contributions(job_, folder_).empty());
}

}  // namespace
}  // namespace couplet::net
