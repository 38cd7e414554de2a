#include "peer_outcome.hpp"

#include "peer_members_support.hpp"

namespace couplet::net {
namespace {

PeerOutput some_output(double bound) {
    PeerOutput output;
    output.features = Features{random_train<double>({6, 7}, {2, 2, 1}), {}, false};
    output.personal = Matrix<double>::identity(2);
    output.rel_error_bound = bound;
    output.rounds = 4;
    output.report.numbers = 100;
    return output;
}

wire::JobSpec stack_spec() {
    return {
        resolve_job({.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.5, .graph = "path"}),
        {}};
}

const std::vector<wire::PeerReport> two_reports{
    {.rank = 3, .error2 = 1, .norm2 = 10, .seconds = 2, .numbers = 100, .bytes = 800, .links = 1},
    {.rank = 2, .error2 = 2, .norm2 = 20, .seconds = 1, .numbers = 50, .bytes = 400, .links = 1}};

struct Decided {
    explicit Decided(std::vector<wire::PeerReport> reports) : row(3, 2) {
        row.run(1000ms);
        epoch = row.at(1).members();
        row.finish(reports);
        row.run(200ms);
        EXPECT_TRUE(row.at(1).decided());
    }
    PeerResult result(const wire::JobSpec& spec, const PeerOutput& output) {
        return make_peer_result(
            {.network = network, .spec = spec, .membership = row.at(1), .members = epoch, .output = output});
    }
    Row row;
    PeerNetwork network{row_kit(3, 1)};
    std::vector<Index> epoch;
};

TEST(PeerOutcomeTest, AResultIsMadeOfTheReportsOfAllMembers) {
    Decided decided(two_reports);
    EXPECT_TRUE(all_reported(decided.row.at(1), decided.epoch));
    const PeerResult result = decided.result(stack_spec(), some_output(0.5));
    EXPECT_EQ(result.members, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(result.missing, (std::vector<std::string>{"c"}));
    EXPECT_EQ(result.place, 1);
    EXPECT_EQ(result.links.size(), 1U);
    EXPECT_EQ(result.rse_per_client, (std::vector<double>{0.1, 0.1}));
    EXPECT_EQ(result.personal_ranks, (std::vector<Index>{3, 2}));
    EXPECT_DOUBLE_EQ(*result.rse, 0.1);
    EXPECT_FALSE(result.rse_heldout);
    EXPECT_EQ(result.numbers_total, 150);
    EXPECT_EQ(result.bytes_total, 1200);
    EXPECT_EQ(result.numbers_per_link, 75);
    EXPECT_EQ(result.seconds_max, 2);
    EXPECT_EQ(result.seconds_sum, 3);
    EXPECT_EQ(result.numbers_sent, 100);
    EXPECT_EQ(result.rel_error_bound, 0.5);
    EXPECT_TRUE(result.doubts.empty());
    EXPECT_EQ(result.job.size(), 32U);
}

TEST(PeerOutcomeTest, ReportsThatSpeakAgainstTheCertificateTakeItAway) {
    auto reports = two_reports;
    reports[0].error2 = 9;
    Decided decided(reports);
    const PeerResult result = decided.result(stack_spec(), some_output(0.1));
    EXPECT_FALSE(result.doubts.empty());
    EXPECT_FALSE(result.rel_error_bound);
    auto scaled = stack_spec();
    scaled.preparation.scale_clients = true;
    const auto doubts = Decided(two_reports).result(scaled, some_output(0.5)).doubts;
    ASSERT_EQ(doubts.size(), 2U) << "no norm is 1";
    EXPECT_EQ(doubts[0].client, "a");
}

TEST(PeerOutcomeTest, OfMaskedSumsNobodysErrorIsTold) {
    Decided decided(two_reports);
    wire::JobSpec spec = stack_spec();
    spec.job.aggregate = Aggregate::subspace;
    spec.shield = ShieldTerms{};
    auto output = some_output(0.5);
    output.rel_error_bound.reset();
    output.own_rse = 0.25;
    const PeerResult result = decided.result(spec, output);
    EXPECT_FALSE(result.rse);
    EXPECT_TRUE(result.rse_per_client.empty());
    EXPECT_EQ(result.own_rse, 0.25);
    EXPECT_EQ(result.numbers_total, 150);
}

TEST(PeerOutcomeTest, WithoutAMajoritySaysWhoWasThereAndWhoWasNot) {
    Row row(5, 2);
    row.run(4000ms);
    ASSERT_EQ(row.at(1).failure(), Membership::Failure::deadline);
    const RunError error = no_result(PeerNetwork(row_kit(5, 1)), row.at(1), {{2, "another job"}}, 3000ms);
    EXPECT_EQ(error.parts().where, "peer b");
    EXPECT_EQ(error.parts().found,
              "reached: a, b; not reached: c (another job), d (no neighbour, and nobody told of it), e (no neighbour, "
              "and nobody told of it)");
    EXPECT_EQ(error.parts().expected, "more than half of 5 peers within 3 s");
    const RunError from_there = no_result(PeerNetwork(row_kit(5, 1)), row.at(1), {}, 3000ms);
    EXPECT_NE(from_there.parts().found.find("c (never seen), d (no neighbour"), std::string::npos);
}

/// b hears c, whose own word has not come as far as a.
TEST(PeerOutcomeTest, APeerThatOthersSeeWasNotNeverSeen) {
    Row row(5, 2);
    row.at(1).heard(2, 99, 0ms);
    row.at(0).receive(row.at(1).news(0, 256), 0ms);
    ASSERT_EQ(row.at(0).hearers(2), std::vector<Index>{1});
    EXPECT_TRUE(row.at(0).hearers(3).empty());
    row.at(0).tick(4000ms);
    ASSERT_TRUE(row.at(0).failure());
    const RunError error = no_result(PeerNetwork(row_kit(5, 0)), row.at(0), {}, 3000ms);
    EXPECT_NE(error.parts().found.find("c (seen by b, not from here)"), std::string::npos) << error.parts().found;
}

TEST(PeerOutcomeTest, WithAMajorityMoreTimeIsWhatIsMissing) {
    Row row(3, 2);
    row.run(4000ms);
    ASSERT_EQ(row.at(0).failure(), Membership::Failure::deadline);
    const RunError error = no_result(PeerNetwork(row_kit(3, 0)), row.at(0), {}, 3000ms);
    EXPECT_EQ(error.parts().expected, "a result within 3 s");
    EXPECT_NE(error.parts().remedy.find("`deadline`"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
