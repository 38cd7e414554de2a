#include "peer_epoch.hpp"

#include "peer_members_support.hpp"

namespace couplet::net {
namespace {

wire::JobId some_job() { return wire::parse_job_id("00112233445566778899aabbccddeeff"); }

TEST(PeerEpochTest, IsWhatTheMembersHaveAgreedOn) {
    Row row(4, 3);
    row.run(1500ms);
    const PeerNetwork network(row_kit(4, 1));
    const PeerEpoch epoch = agreed_epoch(network, row.at(1));
    EXPECT_NE(epoch.number, 0U);
    EXPECT_EQ(epoch.members, (std::vector<Index>{0, 1, 2}));
    EXPECT_EQ(epoch.place, 1);
    EXPECT_EQ(epoch.place_of(2), 2);
    EXPECT_EQ(epoch.place_of(3), std::nullopt);
    EXPECT_EQ(epoch_text(network, row.at(1), some_job()),
              "row 00112233445566778899aabbccddeeff " + std::to_string(epoch.number) + " 11 12 13 0");
}

TEST(PeerEpochTest, DataThatDoesNotFitTogetherIsRefused) {
    Row row(2, 2);
    row.run(1000ms);
    const PeerNetwork network(row_kit(2, 0));
    const PeerEpoch epoch = agreed_epoch(network, row.at(0));
    PeerOptions options{.spec = {resolve_job({.network = Network::decentralized, .rank = 3, .graph = "path"}), {}}};
    const Schema own{.features = {6, 7}};
    EXPECT_EQ(schema_of_members(network, row.at(0), epoch, options, own).features, (Shape{6, 7}));
    Row odd(2, 2);
    odd.on_the_way = [](wire::PeerRecord& record) { record.features = Shape{6, 8}; };
    odd.run(1000ms);
    EXPECT_THROW(schema_of_members(network, odd.at(0), agreed_epoch(network, odd.at(0)), options, own), InputError);
}

TEST(PeerEpochTest, MembersAreHeldToTheirCertificates) {
    const KeyPair authority = make_authority("row");
    const KeyPair one = issue_certificate(authority, {.federation = "row", .role = Role::peer, .name = "a"});
    const KeyPair two = issue_certificate(authority, {.federation = "row", .role = Role::peer, .name = "b"});
    Row row(2, 2);
    row.on_the_way = [&](wire::PeerRecord& record) { record.certificate = (record.peer == 0 ? one : two).certificate; };
    row.run(1000ms);
    const PeerEpoch epoch = agreed_epoch(PeerNetwork(row_kit(2, 0)), row.at(0));
    const auto mine = make_masked_epoch(row.at(0), epoch, "epoch 7", one.key, {});
    const auto theirs = make_masked_epoch(row.at(1), epoch, "epoch 7", two.key, {});
    const std::vector<std::uint8_t> text{1, 2, 3};
    EXPECT_TRUE(mine.verify(1, text, theirs.sign(text)));
    EXPECT_TRUE(theirs.verify(0, text, mine.sign(text)));
    EXPECT_FALSE(mine.verify(1, text, mine.sign(text))) << "another's signature";
    EXPECT_FALSE(mine.verify(1, std::vector<std::uint8_t>{1, 2, 4}, theirs.sign(text)));
    EXPECT_FALSE(mine.verify(2, text, theirs.sign(text))) << "no member";
    EXPECT_EQ(mine.session, theirs.session);
    EXPECT_NE(mine.session, make_masked_epoch(row.at(0), epoch, "epoch 8", one.key, {}).session);
}

TEST(SharedEpochTest, PlacesAreThoseOfTheEpochThatRuns) {
    SharedEpoch shared;
    EXPECT_EQ(shared.member(1, 0), std::nullopt);
    shared.begin(5, {1, 4}, some_job());
    shared.set_order("names");
    EXPECT_EQ(shared.member(5, 1), 4);
    EXPECT_EQ(shared.member(4, 1), std::nullopt);
    const SharedEpoch::Cohort cohort = shared.cohort();
    EXPECT_EQ(cohort.run, "00112233445566778899aabbccddeeff");
    EXPECT_EQ(cohort.members, (std::vector<Index>{1, 4}));
    EXPECT_EQ(cohort.order, "names");
}

}  // namespace
}  // namespace couplet::net
