#include "peer_convert.hpp"

#include <limits>

#include "convert.hpp"
#include "couplet/ctt/arrived_cores.hpp"
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
    EXPECT_EQ(dense.state.ledger.clients, 2);
    EXPECT_EQ(dense.state.ledger.rows, 18);
    EXPECT_EQ(dense.state.ledger.norm2, 4);
    EXPECT_EQ(dense.state.ledger.svd_tail2, 0.5);
    EXPECT_EQ(dense.state.ledger.tt_tail2, 0.25);
    EXPECT_EQ(dense.state.ledger.used2, 0.125);
    const auto rows = random_matrix<double>(3, 12, 1);
    for (Index i = 0; i < rows.size(); ++i) ASSERT_EQ(dense.state.block.dense().data()[i], rows.data()[i]);
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

/// The last value that is taken and the first that is not, and what is said of it.
TEST(PeerConvertTest, EveryLimitIsWhereItSays) {
    const auto bulletin = [] { return Message{route, Bulletin{{some_record()}}}; };
    const auto record = [](v1::Head& head) { return head.mutable_bulletin()->mutable_records(0); };
    const std::string no_record =
        "peer b: a record that cannot be; expected a place, a process, patients, and a report once finished";
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_peer(static_cast<std::uint32_t>(most_peers) - 1); }),
              "");
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_peer(static_cast<std::uint32_t>(most_peers)); }),
              no_record);
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_incarnation(0); }), no_record);
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_rows(1); }), "");
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_rows(0); }), no_record);
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->clear_report(); }), no_record);
    EXPECT_EQ(refused(bulletin(),
                      [&](auto& h) {
                          record(h)->clear_report();
                          record(h)->set_stage(0);
                      }),
              "")
        << "who still works has nothing to report";
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_stage(3); }), "") << "decided, the last stage";
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->set_stage(4); }),
              "peer b: a stage of 4; expected one that this version knows");
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->mutable_proposal()->clear_members(); }),
              "peer b: an epoch of nobody; expected its members");
    EXPECT_EQ(refused(bulletin(), [&](auto& h) { record(h)->mutable_proposal()->set_number(0); }),
              "peer b: an epoch of nobody; expected its members");
    const auto links = [&](std::size_t bytes) {
        return refused(bulletin(),
                       [&](auto& h) { record(h)->mutable_committed()->set_links(std::string(bytes, 'x')); });
    };
    const auto most = static_cast<std::size_t>((most_links + 7) / 8);
    EXPECT_EQ(links(most), "");
    EXPECT_EQ(links(most + 1),
              "peer b: " + std::to_string(most + 1) + " bytes of links; expected at most " + std::to_string(most));
    const auto hears = [&](Index count) {
        return refused(bulletin(), [&](auto& h) {
            record(h)->clear_hears();
            for (Index i = 0; i < count; ++i) record(h)->add_hears(1);
        });
    };
    EXPECT_EQ(hears(most_peers), "");
    EXPECT_EQ(hears(most_peers + 1),
              "peer b: " + std::to_string(most_peers + 1) + " peers; expected at most " + std::to_string(most_peers));
    const auto report = [&](auto change) {
        return refused(bulletin(), [&](auto& h) { change(*record(h)->mutable_report()); });
    };
    EXPECT_EQ(report([](auto& r) { r.set_numbers(-1); }),
              "peer b: numbers of -1.000000; expected a number of at least 0");
    EXPECT_EQ(report([](auto& r) { r.set_bytes(-1); }), "peer b: bytes of -1.000000; expected a number of at least 0");
    EXPECT_EQ(report([](auto& r) { r.set_error2(-1); }),
              "peer b: squared error of -1.000000; expected a number of at least 0");
    EXPECT_EQ(report([](auto& r) { r.set_norm2(-1); }),
              "peer b: squared norm of -1.000000; expected a number of at least 0");
    EXPECT_EQ(report([](auto& r) { r.set_seconds(-1); }),
              "peer b: seconds of -1.000000; expected a number of at least 0");
    EXPECT_NE(report([](auto& r) { r.set_heldout_error2(-1); }), "");
    EXPECT_NE(report([](auto& r) { r.set_heldout_norm2(-1); }), "");
    EXPECT_NE(report([](auto& r) { r.set_links(~0ULL); }), "");
    EXPECT_NE(report([](auto& r) { r.set_rank(~0ULL); }), "");
    EXPECT_EQ(refused({route, Greeting{1, "", "", 0, 0}}, [](auto& h) { h.mutable_greeting()->set_incarnation(0); }),
              "peer b: a greeting of no process; expected a number that is not 0");
    EXPECT_EQ(refused({route, Greeting{1, "", "two\nlines", 0, 0}}, [](auto&) {}),
              "peer b: a text with control characters; expected plain text");
    const auto basis = [](std::uint64_t rows, std::uint64_t cols) {
        return refused({route, PeerBasis{random_matrix<double>(2, 2, 1)}}, [=](auto& h) {
            h.mutable_peer_basis()->set_rows(rows);
            h.mutable_peer_basis()->set_cols(cols);
        });
    };
    EXPECT_EQ(basis(4, 1), "");
    EXPECT_EQ(basis(0, 1), "peer b: an empty basis; expected at least one number");
    EXPECT_EQ(basis(1, 0), "peer b: an empty basis; expected at least one number");
    EXPECT_EQ(basis(3, 1), "peer b: a payload of 32 bytes; expected 24 for its shape");
    EXPECT_EQ(refused({route, PeerState{0, sketch_sum(random_tensor<double>({4, 1}).view(), {})}},
                      [](auto& h) { h.mutable_peer_state()->set_count(0); }),
              "peer b: a state of no numbers; expected at least one");
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

TEST(PeerConvertTest, ASignatureTravelsAndIsNotPartOfWhatIsSigned) {
    PeerRecord signed_record = some_record();
    signed_record.signature = std::string("\x30\0\xff", 3);
    signed_record.certificate = "PEM";
    const Bulletin bulletin = round_trip(Bulletin{{signed_record}});
    EXPECT_EQ(bulletin.records.at(0), signed_record);
    EXPECT_EQ(signed_bytes(signed_record), signed_bytes(some_record()));
    PeerRecord other = some_record();
    ++other.version;
    EXPECT_NE(signed_bytes(other), signed_bytes(some_record()));
    signed_record.signature.assign(81, 'x');
    EXPECT_NE(refused(Message{route, Bulletin{{signed_record}}}, [](auto&) {}), "");
}

}  // namespace
}  // namespace couplet::wire
