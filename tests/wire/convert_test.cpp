#include "convert.hpp"

#include <limits>

#include "federation.pb.h"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

const Route route{protocol_version, parse_job_id("00112233445566778899aabbccddeeff"), 2, 7};

TEST(ConvertTest, ControlMessagesComeBack) {
    EXPECT_EQ(round_trip(Join{"hospital-a", "0.1.0"}, route).name, "hospital-a");
    EXPECT_EQ(round_trip(Refusal{"no"}).reason, "no");
    const Bye bye = round_trip(Bye{{"a", "b"}, {"c"}, 2});
    EXPECT_EQ(bye.members, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(bye.missing, (std::vector<std::string>{"c"}));
    EXPECT_EQ(bye.rounds, 2);
    const Hello hello = round_trip(Hello{{5, 4}, 9, 2.5}, route);
    EXPECT_EQ(hello.features, (Shape{5, 4}));
    EXPECT_EQ(hello.rows, 9);
    EXPECT_EQ(hello.norm2, 2.5);
    EXPECT_EQ(round_trip(StartNotice{{3, 70, 1.5, {}, 2.5}, true}).start.earlier_norm2, 2.5);
    const StartNotice start = round_trip(StartNotice{{3, 70, 1.5}, true});
    EXPECT_EQ(start.start.earlier_norm2, 0);
    EXPECT_EQ(start.start.clients, 3);
    EXPECT_EQ(start.start.rows, 70);
    EXPECT_EQ(start.start.norm2, 1.5);
    EXPECT_TRUE(start.received);
    const Report report = round_trip(Report{4, 0.5, 2, 0.25, 1, 3.5});
    EXPECT_EQ(report.rank, 4);
    EXPECT_EQ(report.error2, 0.5);
    EXPECT_EQ(report.heldout_norm2, 1);
    EXPECT_EQ(report.seconds, 3.5);
}

TEST(ConvertTest, AJobIsTheSameAtBothEnds) {
    for (const JobOptions& options :
         {JobOptions{}, JobOptions{.rank = 5, .seed = 9}, JobOptions{.rank = 5, .oversampling = 1'000'000},
          JobOptions{.bytes = 5000}, JobOptions{.rank = 3, .bytes_total = 50000},
          JobOptions{.rank = 3, .precision = Precision::f32}, JobOptions{.aggregate = Aggregate::average, .rank = 3},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 4, .sketch = Sketch::random, .passes = 2}}) {
        const Job job = resolve_job(options);
        const Welcome back = round_trip(Welcome{{job, {true, 0.25}}, 2, 5});
        const Job& same = back.spec.job;
        EXPECT_EQ(same.aggregate, job.aggregate);
        EXPECT_EQ(same.rank, job.rank);
        EXPECT_EQ(same.eps, job.eps);
        EXPECT_EQ(same.eps1, job.eps1);
        EXPECT_EQ(same.eps2, job.eps2);
        EXPECT_EQ(same.refit, job.refit);
        EXPECT_EQ(same.precision, job.precision);
        EXPECT_EQ(same.bytes, job.bytes);
        EXPECT_EQ(same.bytes_total, job.bytes_total);
        EXPECT_EQ(same.sketch, job.sketch);
        EXPECT_EQ(same.passes, job.passes);
        EXPECT_EQ(same.oversampling, job.oversampling);
        EXPECT_EQ(same.seed, job.seed);
        EXPECT_EQ(back.spec.preparation, (Preparation{true, 0.25}));
        EXPECT_EQ(back.place, 2);
        EXPECT_EQ(back.clients, 5);
    }
}

/// More than anybody can ask for comes from a hostile coordinator; less would silently be another job.
TEST(ConvertTest, MoreOversamplingThanAJobMayHaveIsRefused) {
    Job job = resolve_job({.rank = 3});
    job.oversampling = 1'000'001;
    try {
        round_trip(Welcome{{job, {}}, 0, 1});
        FAIL() << "taken";
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().found, "oversampling by 1000001");
        EXPECT_EQ(error.parts().expected, "at most 1000000");
    }
}

TEST(ConvertTest, ACentringComesBack) {
    for (const CentringOptions& how : {CentringOptions{}, {true, false}, {false, true}, {true, true}}) {
        const Welcome welcome{{resolve_job({.rank = 3}), {}, {}, {}, how}, 0, 2};
        EXPECT_EQ(round_trip(welcome).spec.centring, how);
        CentringRequest told{{}, how.centre};
        if (how.centre) told.centring.mean = {1.0 / 3, -2, 0};
        if (how.scale) told.centring.scale = {1, 1e-9, 3};
        const CentringRequest back = round_trip(told, route);
        EXPECT_EQ(back.centring, told.centring);
        EXPECT_EQ(back.answered, told.answered);
    }
}

TEST(ConvertTest, WeightsComeBack) {
    for (const Weight weight : {Weight::sqrt, Weight::pearson}) {
        const Welcome welcome{{resolve_job({.rank = 3}), {}, {}, {}, {.weight = weight}}, 0, 2};
        EXPECT_EQ(round_trip(welcome).spec.centring.weight, weight);
        const Centring told{.mean = {1, 0.5, 0.25}, .weight = weight, .any_at = {0, 2}, .patients = 77};
        EXPECT_EQ(round_trip(CentringRequest{told}, route).centring, told);
    }
}

TEST(ConvertTest, WhatFillsMissingEntriesComesBack) {
    const FillSums said{1000, 100, 45, 1.5, 2.5, 3.5, 0.25, 0.5, 0.75, 1e-9, 9.5, 1.0 / 3};
    const FillSums back = round_trip(said, route);
    EXPECT_EQ(back.entries, 1000);
    EXPECT_EQ(back.missing, 100);
    EXPECT_EQ(back.validation, 45);
    EXPECT_EQ(back.error2, 1.5);
    EXPECT_EQ(back.known2, 2.5);
    EXPECT_EQ(back.objective, 3.5);
    EXPECT_EQ(back.validation_error2, 0.25);
    EXPECT_EQ(back.validation_means2, 0.5);
    EXPECT_EQ(back.validation_norm2, 0.75);
    EXPECT_EQ(back.change2, 1e-9);
    EXPECT_EQ(back.filled2, 9.5);
    EXPECT_EQ(back.norm2, 1.0 / 3);
    for (const Filling& filling : {Filling{0.2, 1.5}, Filling{0, 1, true, false, false}, Filling{1, 1, false, true}}) {
        FeaturesMessage features = some_features();
        EXPECT_FALSE(round_trip(some_features()).filling);
        features.filling = filling;
        EXPECT_EQ(round_trip(std::move(features)).filling, filling);
    }
    EXPECT_TRUE(round_trip(StartNotice{{3, 70, 1.5}, false, true}).refilled);
    EXPECT_FALSE(round_trip(StartNotice{{3, 70, 1.5}, false, false}).refilled);
    const Job job = resolve_job({.rank = 3});
    EXPECT_TRUE(round_trip(Welcome{{job, {}, CompletionLimits{}}, 0, 1}).spec.missing);
    EXPECT_FALSE(round_trip(Welcome{{job, {}}, 0, 1}).spec.missing);
}

TEST(ConvertTest, NumbersComeBackBitForBit) {
    const Upload train = some_upload();
    ASSERT_FALSE(train.block->is_dense());
    const Upload same = round_trip(some_upload(), route);
    EXPECT_TRUE(same_bits(same.block->train(), train.block->train()));
    for (Index n = 0; n < 3; ++n) {
        EXPECT_EQ(same.block->train().orthogonality(n), train.block->train().orthogonality(n));
    }
    EXPECT_EQ(same.rows, train.rows);
    EXPECT_EQ(same.norm2, train.norm2);
    EXPECT_EQ(same.svd_tail2, train.svd_tail2);
    EXPECT_EQ(same.tt_tail2, train.tt_tail2);

    const auto x = random_tensor<double>({30, 20, 2}, 3);
    const Upload dense = compress_client(x.view(), {0, 0, 30});
    ASSERT_TRUE(dense.block->is_dense());
    const Upload dense_back = round_trip(compress_client(x.view(), {0, 0, 30}));
    ASSERT_TRUE(dense_back.block->is_dense());
    for (Index i = 0; i < dense.block->dense().size(); ++i) {
        ASSERT_EQ(dense.block->dense().data()[i], dense_back.block->dense().data()[i]);
    }
    const FeaturesMessage features = round_trip(some_features());
    EXPECT_TRUE(same_bits(features.features, some_features().features));
    EXPECT_EQ(features.rel_error_bound, 0.25);

    const auto sum = sketch_sum(x.view(), {});
    EXPECT_EQ(round_trip(SumReply{3, sum}).sum.get(), sum.get());
    SumRequest request{1, SubspaceIteration::Want::projected, random_matrix<double>(7, 3, 2)};
    const auto basis = Matrix<double>::copy(request.basis.view());
    const SumRequest request_back = round_trip(std::move(request));
    EXPECT_EQ(request_back.want, SubspaceIteration::Want::projected);
    for (Index i = 0; i < basis.size(); ++i) ASSERT_EQ(request_back.basis.data()[i], basis.data()[i]);
}

TEST(ConvertTest, WhatCannotBeCountedIsRefusedByItsSender) {
    const std::string reason = refusal([] { round_trip(Hello{{Index{1} << 62}, 9, 2.5}, route); });
    EXPECT_TRUE(reason.starts_with("client a: ")) << reason;
    EXPECT_NE(reason.find("as many as can be counted"), std::string::npos) << reason;
}

TEST(ConvertTest, CodedBlocksComeBackBitForBit) {
    for (const bool dense : {true, false}) {
        const Upload upload = coded_upload(dense);
        ASSERT_TRUE(upload.block->code());
        ASSERT_EQ(upload.block->is_dense(), dense);
        const Upload back = round_trip(coded_upload(dense), route);
        ASSERT_TRUE(back.block->code());
        EXPECT_EQ(back.block->code()->bytes, upload.block->code()->bytes);
        EXPECT_EQ(back.block->code()->step, upload.block->code()->step);
        Matrix<double> sent(upload.block->rows(), upload.block->features().size());
        Matrix<double> received(back.block->rows(), back.block->features().size());
        upload.block->expand(sent.view());
        back.block->expand(received.view());
        EXPECT_EQ(naive_distance(sent.view(), received.view()), 0);
        EXPECT_EQ(back.tt_tail2, upload.tt_tail2);

        const FeaturesMessage features = round_trip(coded_features(dense), route);
        EXPECT_TRUE(same_bits(features.features, coded_features(dense).features));
        EXPECT_EQ(features.rel_error_bound, 0.25);
    }
    const auto x = random_tensor<double>({6, 5, 4}, 1);
    const auto floats = [&] { return compress_client(x.view(), {0.1, 0.1, 3, {}, Precision::f32}); };
    EXPECT_EQ(round_trip(floats()).block->code()->bytes, floats().block->code()->bytes);
}

TEST(ConvertTest, CodedBlocksThatCannotBeAreRefused) {
    const auto refused = [](const std::function<void(v1::Head&, std::vector<std::byte>&)>& change) {
        Parts parts = encode({route, coded_upload(false)});
        v1::Head head;
        EXPECT_TRUE(head.ParseFromString(parts.head));
        auto payload = parts.payload();
        change(head, payload);
        head.set_payload_bytes(payload.size());
        const std::string bytes = head.SerializeAsString();
        return refusal([&] {
            Receiver receiver("client a", {.max_payload_bytes = 1 << 20});
            receiver.head(bytes);
            receiver.chunk(payload);
            Digest digest;
            digest.add(std::as_bytes(std::span(bytes)));
            digest.add(payload);
            receiver.tail(digest.finish());
        });
    };
    const auto expect = [&](const char* words, const std::function<void(v1::Head&, std::vector<std::byte>&)>& change) {
        EXPECT_NE(refused(change).find(words), std::string::npos) << words << ": " << refused(change);
        EXPECT_EQ(refused(change).find("client a"), 0U);
    };
    EXPECT_EQ(refused([](auto&, auto&) {}), "");
    expect("unknown coding", [](auto& h, auto&) { h.mutable_upload()->set_code(3); });
    expect("bytes", [](auto& h, auto&) { h.mutable_upload()->set_code(2); });
    expect("step", [](auto& h, auto&) { h.mutable_upload()->set_step(0); });
    expect("step", [](auto& h, auto&) { h.mutable_upload()->set_step(std::numeric_limits<double>::quiet_NaN()); });
    expect("payload", [](auto&, auto& p) { p.resize(3); });
    expect("payload", [](auto&, auto& p) { p.resize(20000); });
    expect("end of the bytes", [](auto&, auto& p) { p.pop_back(); });
    expect("end of the bytes", [](auto&, auto& p) { p.push_back(std::byte{0}); });
    expect("bytes in its upload", [](auto&, auto& p) { p.resize(p.size() + 4); });
    // A few bytes that would decode to more than is accepted.
    expect("decodes to", [](auto& h, auto&) {
        h.mutable_upload()->clear_ranks();
        h.mutable_upload()->set_block_rows(1 << 20);
    });
}

TEST(ConvertTest, ASavedMergeComesBack) {
    const MergeState state{FeatureBlock(block_train(some_upload().block.get())), {2, 18, 4, 0.5, 0.25, 0.125}};
    const MergeState same = round_trip(MergeState{state.block.clone(), state.ledger});
    EXPECT_TRUE(same_bits(same.block.train(), state.block.train()));
    EXPECT_EQ(same.ledger.clients, 2);
    EXPECT_EQ(same.ledger.used2, 0.125);
    const MergeState rows{FeatureBlock(random_matrix<double>(2, 60, 3), {5, 4, 3}), {1, 9, 2, 0, 0, 0}};
    const MergeState dense = round_trip(MergeState{rows.block.clone(), rows.ledger});
    EXPECT_TRUE(same_bits<double>(dense.block.dense().view(), rows.block.dense().view()));
}

/// The merge trusts left-orthonormal cores: those that are not are made so, whatever the sender says.
TEST(ConvertTest, CoresThatAreNotOrthonormalAreMadeSo) {
    const Upload honest = some_upload();
    Parts parts = encode({route, some_upload()});
    auto numbers = parts.payload();
    double first = 0;
    std::memcpy(&first, numbers.data(), 8);
    first *= 3;
    std::memcpy(numbers.data(), &first, 8);
    const Message message = assemble(parts.head, numbers, "client a");
    const auto& train = std::get<Upload>(message.body).block->train();
    for (Index n = 0; n + 1 < train.order(); ++n) {
        const auto g = gram<double>(train.left_unfolding(n), Side::right);
        for (Index i = 0; i < g.rows(); ++i) {
            for (Index j = 0; j < g.cols(); ++j) EXPECT_NEAR(g(i, j), i == j ? 1 : 0, 1e-10);
        }
    }
    EXPECT_EQ(train.shape(), honest.block->train().shape());
}

/// A head of somebody else's making.
template <class F>
std::string refused_head(F change) {
    v1::Head head;
    EXPECT_TRUE(head.ParseFromString(encode({route, some_upload()}).head));
    change(head);
    return refusal([&] { parse_head(head.SerializeAsString(), "client a"); });
}

/// A coordinator decides by the head alone whether it wants the numbers.
TEST(ConvertTest, AHeadTellsWhatFollows) {
    const Head upload = parse_head(encode({route, some_upload()}, least_chunk_bytes).head, "client a");
    EXPECT_EQ(upload.route, route);
    EXPECT_EQ(upload.kind, Kind::upload);
    EXPECT_EQ(upload.chunk_bytes, least_chunk_bytes);
    EXPECT_EQ(upload.modes, (Shape{5, 4, 3}));
    EXPECT_EQ(upload.ranks, some_upload().block->train().ranks());
    EXPECT_EQ(upload.rows, some_upload().block->rows());
    EXPECT_EQ(upload.payload_bytes, 8 * some_upload().block->numbers());
    const Head features = parse_head(encode({route, some_features()}).head, "client a");
    EXPECT_EQ(features.rows, 3);
    EXPECT_EQ(features.ranks, (std::vector<Index>{3, 4, 2, 1}));
    const MergeState state{FeatureBlock(block_train(some_upload().block.get())), {2, 18, 4, 0.5, 0.25, 0.125}};
    const Head saved = parse_head(encode({route, MergeState{state.block.clone(), state.ledger}}).head, "client a");
    EXPECT_EQ(saved.rows, state.block.rows());
    EXPECT_EQ(saved.modes, state.block.features());
    const Head sum =
        parse_head(encode({route, SumReply{3, sketch_sum(random_tensor<double>({4, 3}).view(), {})}}).head, "a");
    EXPECT_EQ(sum.kind, Kind::sum_reply);
    EXPECT_EQ(sum.pass, 3);
    EXPECT_EQ(sum.payload_bytes, 8 * 6);
}

TEST(ConvertTest, HeadsThatPromiseTheImpossibleAreRefused) {
    const auto upload = [](v1::Head& head) { return head.mutable_upload(); };
    EXPECT_EQ(refused_head([](v1::Head&) {}), "");
    const std::vector<std::pair<std::string, std::function<void(v1::Head&)>>> cases{
        {"protocol 99", [](v1::Head& h) { h.set_protocol(99); }},
        {"no job", [](v1::Head& h) { h.set_job("short"); }},
        {"unknown kind", [](v1::Head& h) { h.clear_body(); }},
        {"chunks of 1000", [](v1::Head& h) { h.set_chunk_bytes(1000); }},
        {"for its shape", [](v1::Head& h) { h.set_payload_bytes(h.payload_bytes() + 8); }},
        {"no feature modes", [&](v1::Head& h) { upload(h)->clear_modes(); }},
        {"of 0", [&](v1::Head& h) { upload(h)->set_modes(1, 0); }},
        {"2^63", [&](v1::Head& h) { upload(h)->set_modes(1, std::numeric_limits<std::uint64_t>::max()); }},
        {"elements",
         [&](v1::Head& h) {
             upload(h)->set_modes(1, 1ULL << 62);
             upload(h)->set_modes(2, 1ULL << 62);
         }},
        {"ranks", [&](v1::Head& h) { upload(h)->set_ranks(1, 1ULL << 40); }},
        {"ranks",
         [&](v1::Head& h) {
             upload(h)->set_ranks(0, 1ULL << 40);
             upload(h)->set_block_rows(1ULL << 40);
         }},
        {"the last of them 1", [&](v1::Head& h) { upload(h)->set_ranks(3, 2); }},
        {"5 ranks", [&](v1::Head& h) { upload(h)->add_ranks(1); }},
        {"the first rank", [&](v1::Head& h) { upload(h)->set_block_rows(8); }},
        {"64 modes",
         [&](v1::Head& h) {
             while (upload(h)->modes_size() < 64) upload(h)->add_modes(1);
         }},
    };
    for (const auto& [expected, change] : cases) {
        EXPECT_NE(refused_head(change).find(expected), std::string::npos) << expected << ": " << refused_head(change);
        EXPECT_EQ(refused_head(change).find("client a"), 0U) << expected;
    }
    EXPECT_NE(refusal([] { parse_head("\xff\xff", "client a"); }).find("cannot be read"), std::string::npos);
}

TEST(ConvertTest, BodiesThatMakeNoSenseAreRefused) {
    const auto refused = [](Message message, const std::function<void(v1::Head&)>& change) {
        v1::Head head;
        const Parts parts = encode(message);
        EXPECT_TRUE(head.ParseFromString(parts.head));
        change(head);
        return refusal([&] { assemble(head.SerializeAsString(), parts.payload(), "client a"); });
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Message hello{route, Hello{{5, 4}, 9, 2.5}};
    EXPECT_NE(refused({route, Hello{{5, 4}, 9, 2.5}}, [&](auto& h) { h.mutable_hello()->set_norm2(nan); }), "");
    EXPECT_NE(refused({route, Hello{{5, 4}, 9, 2.5}}, [&](auto& h) { h.mutable_hello()->set_norm2(-1); }), "");
    EXPECT_NE(refused({route, Hello{{5, 4}, 9, 2.5}}, [](auto& h) { h.mutable_hello()->set_rows(0); }), "");
    EXPECT_NE(refused({route, Report{}}, [&](auto& h) { h.mutable_report()->set_error2(nan); }), "");
    EXPECT_NE(refused({route, some_upload()}, [&](auto& h) { h.mutable_upload()->set_tt_tail2(nan); }), "");
    EXPECT_NE(refused({route, some_features()}, [&](auto& h) { h.mutable_features()->set_rel_error_bound(nan); }), "");
    EXPECT_NE(refused({route, some_features()}, [](auto& h) { h.mutable_features()->set_sigma_count(2); }), "");
    EXPECT_NE(refused({route, Join{std::string(5000, 'x'), ""}}, [](auto&) {}), "");
    const Job job = resolve_job({.rank = 3});
    const auto welcome = [&] { return Message{route, Welcome{{job, {}}, 0, 1}}; };
    EXPECT_EQ(refused(welcome(), [](auto&) {}), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_aggregate(9); }), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_passes(0); }), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_eps1(1); }), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_heldout(2); }), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_refit(false); }), "");
    EXPECT_NE(refused(welcome(),
                      [](auto& h) {
                          h.mutable_welcome()->set_missing(true);
                          h.mutable_welcome()->clear_rank();
                      }),
              "");
    EXPECT_NE(refused(welcome(),
                      [](auto& h) {
                          h.mutable_welcome()->set_missing(true);
                          h.mutable_welcome()->set_centre(true);
                      }),
              "");
    const auto centring = [](std::vector<double> scale) {
        return Message{route, CentringRequest{{{1, 2}, std::move(scale)}}};
    };
    EXPECT_EQ(refused(centring({1, 2}), [](auto&) {}), "");
    EXPECT_NE(refused(centring({1, 0}), [](auto&) {}).find("not positive"), std::string::npos);
    EXPECT_NE(refused(centring({1, -1}), [](auto&) {}).find("not positive"), std::string::npos);
    EXPECT_NE(refused(centring({1, 2}), [](auto& h) { h.mutable_centring()->set_scales(1); }), "");
    EXPECT_NE(refused(centring({}), [](auto& h) { h.mutable_centring()->set_means(std::uint64_t{1} << 62); }), "");
    EXPECT_NE(refused(welcome(), [](auto& h) { h.mutable_welcome()->set_weight(3); }).find("weight"),
              std::string::npos);
    const auto weighted = [] {
        return Message{route, CentringRequest{{.mean = {1, 2}, .weight = Weight::sqrt, .any_at = {1}, .patients = 9}}};
    };
    EXPECT_EQ(refused(weighted(), [](auto&) {}), "");
    EXPECT_NE(refused(weighted(), [](auto& h) { h.mutable_centring()->set_weight(9); }), "");
    EXPECT_NE(refused(weighted(), [](auto& h) { h.mutable_centring()->clear_any(); }), "");
    EXPECT_NE(refused(weighted(), [](auto& h) { h.mutable_centring()->set_any(0, std::uint64_t{1} << 63); }), "");
    const auto sums = [] { return Message{route, FillSums{10, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}}; };
    EXPECT_EQ(refused(sums(), [](auto&) {}), "");
    EXPECT_EQ(refused(sums(), [](auto& h) { h.mutable_fill_sums()->set_missing(8); }), "");
    EXPECT_NE(refused(sums(), [](auto& h) { h.mutable_fill_sums()->set_missing(9); }).find("more hidden entries"),
              std::string::npos);
    EXPECT_NE(refused(sums(), [&](auto& h) { h.mutable_fill_sums()->set_change2(nan); }), "");
    EXPECT_NE(refused(sums(), [](auto& h) { h.mutable_fill_sums()->set_norm2(-1); }), "");
    EXPECT_NE(refused(sums(), [](auto& h) { h.mutable_fill_sums()->set_objective(-1e-9); }), "");
    const auto filling = [] {
        FeaturesMessage features = some_features();
        features.filling = Filling{0.5, 2};
        return Message{route, std::move(features)};
    };
    EXPECT_EQ(refused(filling(), [](auto&) {}), "");
    EXPECT_NE(refused(filling(), [](auto& h) { h.mutable_features()->set_means(1.01); }), "");
    EXPECT_NE(refused(filling(), [](auto& h) { h.mutable_features()->set_means(-0.01); }), "");
    EXPECT_NE(refused(filling(), [](auto& h) { h.mutable_features()->set_fill_step(0.99); }), "");
    EXPECT_NE(refused(filling(), [&](auto& h) { h.mutable_features()->set_fill_step(nan); }), "");
    const SumRequest request{1, SubspaceIteration::Want::sketch, random_matrix<double>(2, 2, 1)};
    EXPECT_NE(refused({route, SumRequest{1, request.want, Matrix<double>::copy(request.basis.view())}},
                      [](auto& h) { h.mutable_sum_request()->set_want(7); }),
              "");
    // Features whose cores are no longer orthonormal.
    const Parts parts = encode({route, some_features()});
    auto numbers = parts.payload();
    std::fill(numbers.begin(), numbers.begin() + 64, std::byte{0});
    EXPECT_NE(refusal([&] { assemble(parts.head, numbers, "coordinator"); }).find("orthonormal"), std::string::npos);
    numbers.pop_back();
    EXPECT_NE(refusal([&] { assemble(parts.head, numbers, "coordinator"); }).find("payload"), std::string::npos);
}

TEST(ConvertTest, NamesOfFeaturesComeBack) {
    const Labels labels{{"lab", {"age", "bmi", "a", "b", "c"}, {"years", "", "", "", ""}}, {"", {}, {}}};
    const Hello hello = round_trip(Hello{{5, 4}, 9, 2.5, labels});
    EXPECT_EQ(hello.labels, labels);
    EXPECT_TRUE(round_trip(Hello{{5, 4}, 9, 2.5}).labels.empty());
    const StartNotice start = round_trip(StartNotice{{3, 27, 7.5, labels}, true});
    EXPECT_EQ(start.start.labels, labels);
    EXPECT_TRUE(start.received);
    Welcome welcome;
    welcome.spec.job = resolve_job({.rank = 3, .unnamed = Unnamed::allow});
    welcome.clients = 2;
    EXPECT_EQ(round_trip(welcome).spec.job.unnamed, Unnamed::allow);
    welcome.spec.job.unnamed = Unnamed::refuse;
    EXPECT_EQ(round_trip(welcome).spec.job.unnamed, Unnamed::refuse);
    Greeting greeting{7, "job", "1", 0, 0, {Shape{5, 4}, labels}};
    EXPECT_EQ(round_trip(greeting).schema, greeting.schema);
    const auto wrong = [&](const std::function<void(v1::Head&)>& change) {
        v1::Head head;
        head.ParseFromString(encode({route, Hello{{5, 4}, 9, 2.5, labels}}).head);
        change(head);
        return refusal([&] { assemble(head.SerializeAsString(), {}, "client a"); });
    };
    EXPECT_EQ(wrong([](auto&) {}), "");
    EXPECT_NE(wrong([](auto& h) { h.mutable_hello()->mutable_names(0)->add_labels("d"); }), "");
    EXPECT_NE(wrong([](auto& h) { h.mutable_hello()->mutable_names(1)->add_units("d"); }), "");
    EXPECT_NE(wrong([](auto& h) { h.mutable_hello()->mutable_names(0)->set_labels(0, "a\x1b[2J"); }), "");
    EXPECT_NE(wrong([](auto& h) { h.mutable_hello()->mutable_names(0)->set_name(std::string(5000, 'x')); }), "");
    EXPECT_NE(wrong([](auto& h) { h.mutable_hello()->add_names(); }), "");
}

}  // namespace
}  // namespace couplet::wire
