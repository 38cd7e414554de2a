#include "peer_convert.hpp"

#include <limits>

#include "arrived_cores.hpp"
#include "convert.hpp"
#include "federation.pb.h"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

const Route route{protocol_version, parse_job_id("00112233445566778899aabbccddeeff"), 2, 7};

PeerRecord some_record() {
    return {.peer = 2,
            .incarnation = 77,
            .version = 5,
            .features = {5, 4},
            .rows = 9,
            .hears = {11, 0, 77},
            .promised = 8,
            .proposal = {8, {11, 0, 77}, {true, false, true, false, false, false, false, true}},
            .committed = {5, {11, 22, 77}, std::vector<bool>(16, true)},
            .stage = Stage::informed,
            .report = PeerReport{3, 0.5, 2, 0.25, 1, 3.5, 100, 900, 2}};
}

TEST(PeerConvertTest, WhatPeersSayComesBack) {
    const Greeting greeting = round_trip(Greeting{9, "rank 3", "0.1.0", 4, 12}, route);
    EXPECT_EQ(greeting.incarnation, 9U);
    EXPECT_EQ(greeting.job, "rank 3");
    EXPECT_EQ(greeting.version, "0.1.0");
    EXPECT_EQ(greeting.answers, 4U);
    EXPECT_EQ(greeting.received, 12U);
    EXPECT_EQ(round_trip(Beat{7}).received, 7U);
    PeerRecord fresh{.peer = 0, .incarnation = 1, .version = 0, .features = {3}, .rows = 1, .hears = {1, 0, 0}};
    const Bulletin bulletin = round_trip(Bulletin{{some_record(), fresh}});
    ASSERT_EQ(bulletin.records.size(), 2U);
    EXPECT_EQ(bulletin.records[0], some_record());
    EXPECT_EQ(bulletin.records[1], fresh);
}

TEST(PeerConvertTest, NumbersComeBackBitForBit) {
    const auto sum = sketch_sum(random_tensor<double>({30, 20, 2}, 3).view(), {});
    const PeerState state = round_trip(PeerState{4, sum}, route);
    EXPECT_EQ(state.iteration, 4);
    EXPECT_EQ(state.values.get(), sum.get());
    const auto basis = random_matrix<double>(7, 3, 2);
    const PeerBasis back = round_trip(PeerBasis{Matrix<double>::copy(basis.view())});
    ASSERT_EQ(back.basis.rows(), 7);
    for (Index i = 0; i < basis.size(); ++i) ASSERT_EQ(back.basis.data()[i], basis.data()[i]);
    const Ledger ledger{2, 18, 4, 0.5, 0.25, 0.125};
    const PeerMerge dense = round_trip(PeerMerge{{FeatureBlock(random_matrix<double>(3, 12, 1), {3, 4}), ledger}});
    ASSERT_TRUE(dense.state.block.is_dense());
    EXPECT_EQ(dense.state.ledger.used2, 0.125);
}

/// Cores known to be orthonormal are merged without another QR: the receiver must know neither more nor less.
TEST(PeerConvertTest, WhatIsKnownOfCoresTravels) {
    const auto train = block_train(some_upload().block.get());
    const PeerMerge known = round_trip(PeerMerge{{FeatureBlock(left_orthonormal(train.clone().release())), {}}});
    EXPECT_EQ(known.state.block.train().orthogonality(0), Orthogonality::left);
    auto forgotten = TensorTrain<double>(train.clone().release());
    const PeerMerge unknown = round_trip(PeerMerge{{FeatureBlock(std::move(forgotten)), {}}});
    EXPECT_EQ(unknown.state.block.train().orthogonality(0), Orthogonality::none);
    EXPECT_TRUE(same_bits(unknown.state.block.train(), train));
}

template <class F>
std::string refused(Message message, F change) {
    v1::Head head;
    const Parts parts = encode(message);
    EXPECT_TRUE(head.ParseFromString(parts.head));
    change(head);
    return refusal([&] {
        parse_head(head.SerializeAsString(), "peer b");
        assemble(head.SerializeAsString(), parts.payload(), "peer b");
    });
}

TEST(PeerConvertTest, WhatCannotBeIsRefused) {
    const auto bulletin = [] { return Message{route, Bulletin{{some_record()}}}; };
    const auto record = [](v1::Head& head) { return head.mutable_bulletin()->mutable_records(0); };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(refused(bulletin(), [](auto&) {}), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->set_peer(1U << 30); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->set_incarnation(0); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->set_rows(0); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->clear_modes(); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->set_stage(9); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->clear_report(); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->mutable_report()->set_norm2(nan); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->mutable_proposal()->clear_members(); }), "");
    EXPECT_NE(refused(bulletin(), [&](auto& h) { record(h)->mutable_committed()->set_links(std::string(5000, 'x')); }),
              "");
    EXPECT_NE(refused(bulletin(),
                      [&](auto& h) {
                          while (record(h)->hears_size() <= most_peers) record(h)->add_hears(1);
                      }),
              "");
    EXPECT_NE(refused({route, Greeting{1, "", "", 0, 0}}, [](auto& h) { h.mutable_greeting()->set_incarnation(0); }),
              "");
    EXPECT_NE(refused({route, Greeting{1, "two\nlines", "", 0, 0}}, [](auto&) {}), "");
    const auto basis = [] { return Message{route, PeerBasis{random_matrix<double>(2, 2, 1)}}; };
    EXPECT_NE(refused(basis(), [](auto& h) { h.mutable_peer_basis()->set_rows(1ULL << 40); }), "");
    EXPECT_NE(refused(basis(),
                      [](auto& h) {
                          h.mutable_peer_basis()->set_rows(1ULL << 40);
                          h.mutable_peer_basis()->set_cols(1ULL << 40);
                      }),
              "");
    EXPECT_NE(refused(basis(), [](auto& h) { h.mutable_peer_basis()->set_rows(0); }), "");
    const auto merge = [] {
        return Message{route, PeerMerge{{FeatureBlock(block_train(some_upload().block.get())), {1, 9, 1, 0, 0, 0}}}};
    };
    EXPECT_EQ(refused(merge(), [](auto&) {}), "");
    EXPECT_NE(refused(merge(), [](auto& h) { h.mutable_peer_merge()->set_ranks(1, 1ULL << 40); }), "");
    EXPECT_NE(refused(merge(), [](auto& h) { h.mutable_peer_merge()->set_block_rows(99); }), "");
    EXPECT_NE(refused(merge(), [&](auto& h) { h.mutable_peer_merge()->set_used2(nan); }), "");
    EXPECT_NE(refused(merge(), [](auto& h) { h.mutable_peer_merge()->clear_modes(); }), "");
    EXPECT_NE(refused({route, PeerState{0, sketch_sum(random_tensor<double>({4, 3}).view(), {})}},
                      [](auto& h) { h.mutable_peer_state()->set_count(0); }),
              "");
}

}  // namespace
}  // namespace couplet::wire
