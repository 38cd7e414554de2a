#include "schema_vote.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

Voter voter(Index place, std::vector<std::string> labels) {
    Labels modes{ModeLabels{.name = "lab", .entries = std::move(labels)}};
    return {place, "client " + std::string(1, static_cast<char>('a' + place)), {{2}, std::move(modes)}};
}
Voter silent(Index place) { return {place, "client " + std::string(1, static_cast<char>('a' + place)), {{2}, {}}}; }

const std::vector<std::string> blood{"crp", "wbc"};
const std::vector<std::string> urine{"ph", "gfr"};
const auto everybody = [](Index) { return true; };

TEST(SchemaVote, MostDecide) {
    const SchemaVote vote({}, Unnamed::allow);
    const auto outcome = vote.settle({voter(0, blood), voter(1, urine), voter(2, blood)}, everybody);
    EXPECT_EQ(outcome.fitting, (std::vector<Index>{0, 2}));
    ASSERT_EQ(outcome.misfits.size(), 1U);
    EXPECT_EQ(outcome.misfits.front().first, 1);
    EXPECT_EQ(outcome.misfits.front().second.where, "client b");
    EXPECT_TRUE(vote.settle({}, everybody).fitting.empty());
}

TEST(SchemaVote, ATieIsNobodysUnlessOneSideHasGone) {
    const SchemaVote vote({}, Unnamed::allow);
    const std::vector<Voter> sides{voter(0, blood), voter(1, urine)};
    EXPECT_TRUE(vote.is_tied(sides));
    EXPECT_FALSE(vote.is_tied({voter(0, blood)}));
    EXPECT_FALSE(vote.is_tied({}));
    const auto stands = vote.settle(sides, everybody);
    EXPECT_TRUE(stands.fitting.empty());
    EXPECT_EQ(stands.misfits.size(), 2U);
    const auto one_gone = vote.settle(sides, [](Index place) { return place == 1; });
    EXPECT_EQ(one_gone.fitting, (std::vector<Index>{1}));
    ASSERT_EQ(one_gone.misfits.size(), 1U);
    EXPECT_EQ(one_gone.misfits.front().first, 0);
    EXPECT_TRUE(vote.settle(sides, [](Index) { return false; }).fitting.empty()) << "both gone";
}

TEST(SchemaVote, IsCertainOnceMoreThanHalfOfTheRosterAreFirm) {
    const SchemaVote vote({}, Unnamed::allow);
    EXPECT_FALSE(vote.certain({voter(0, blood), voter(1, blood)}, 4)) << "two could still come against two";
    const auto decided = vote.certain({voter(0, blood), voter(1, blood), voter(2, urine)}, 3);
    ASSERT_TRUE(decided);
    EXPECT_EQ(decided->modes.front().entries, blood);
    EXPECT_FALSE(vote.certain({voter(0, blood), silent(1), silent(2)}, 3)) << "who says nothing may mean either";
    EXPECT_TRUE(vote.misfit_of(voter(2, urine), *decided));
    EXPECT_FALSE(vote.misfit_of(voter(2, blood), *decided));
}

TEST(SchemaVote, OneThatIsGivenNeedsNoVotes) {
    const SchemaVote vote(voter(0, urine).schema, Unnamed::allow);
    EXPECT_EQ(vote.certain({}, 3)->modes.front().entries, urine);
    const auto outcome = vote.settle({voter(0, blood), voter(1, blood), voter(2, urine)}, everybody);
    EXPECT_EQ(outcome.fitting, (std::vector<Index>{2}));
    EXPECT_FALSE(vote.is_tied({voter(0, blood), voter(1, urine)}));
}

}  // namespace
}  // namespace couplet::net
