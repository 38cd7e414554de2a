#include "secure_convert.hpp"

#include "convert.hpp"
#include "federation.pb.h"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

const Route route{protocol_version, parse_job_id("00112233445566778899aabbccddeeff"), 1, 9};

Key key(std::uint8_t first) {
    Key result{};
    result[0] = first;
    return result;
}

Announced announced(std::uint8_t first) {
    const auto next = [&](int step) { return key(static_cast<std::uint8_t>(first + step)); };
    return {{key(first), {next(1), next(2)}, {next(3), next(4)}, {1, 2, first}}, "-----BEGIN CERTIFICATE-----\n"};
}

SecureRequest ask(SecureAsk what) { return {3, 1, std::move(what)}; }
SecureReply reply(SecureAnswer what) { return {3, 1, std::move(what)}; }

TEST(SecureConvert, RequestsComeBack) {
    std::vector<std::uint64_t> counts(census_length, 0);
    counts[5] = 17;
    counts.back() = std::uint64_t{1} << 47;
    const auto basis = random_matrix<double>(7, 3, 2);
    const SealedShares shares{{1, {1, 2, 3}}, {4, {}}};
    AskNumbers all{shares, {1, 3, 4}, counts, Matrix<double>::copy(basis.view()), true};
    const auto numbers = round_trip(ask(std::move(all)), route);
    EXPECT_EQ(numbers.sum, 3);
    EXPECT_EQ(numbers.again, 1);
    const auto& said = std::get<AskNumbers>(numbers.ask);
    EXPECT_EQ(said.counts, counts);
    for (Index i = 0; i < basis.size(); ++i) ASSERT_EQ(said.basis.data()[i], basis.data()[i]);
    EXPECT_EQ(said.shares, shares);
    EXPECT_EQ(said.members, (std::set<Party>{1, 3, 4}));
    EXPECT_TRUE(said.extends);
    const auto nothing_new = round_trip(ask(AskNumbers{{}, {0, 1}, {}, {}, false}));
    EXPECT_TRUE(std::get<AskNumbers>(nothing_new.ask).counts.empty());
    EXPECT_FALSE(std::get<AskNumbers>(nothing_new.ask).extends);
    EXPECT_TRUE(std::holds_alternative<AskKeys>(round_trip(ask(AskKeys{})).ask));

    AskNumbers under_budget{{}, {0, 1}, {}, {}, false, {{0, 5, {1, 2, 255}}, {1, 4, {9}}}};
    const auto opened = std::get<AskNumbers>(round_trip(ask(std::move(under_budget))).ask).opened;
    EXPECT_EQ(opened, (std::vector<OpenedSum>{{0, 5, {1, 2, 255}}, {1, 4, {9}}}));

    const auto roster = round_trip(ask(AskShares{{{0, announced(5)}, {254, announced(9)}}}));
    const auto& found = std::get<AskShares>(roster.ask).roster;
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.at(254).keys.masking, (std::vector<Key>{key(10), key(11)}));
    EXPECT_EQ(found.at(254).keys.seeds, (std::vector<Key>{key(12), key(13)}));
    EXPECT_EQ(found.at(0).keys.signature, (Signature{1, 2, 5}));
    EXPECT_EQ(found.at(0).certificate, announced(5).certificate);

    const auto survivors = round_trip(ask(AskEndorsement{{{0, 2}, {1}}}));
    EXPECT_EQ(std::get<AskEndorsement>(survivors.ask).survivors.alive, (std::set<Party>{0, 2}));
    EXPECT_EQ(std::get<AskEndorsement>(survivors.ask).survivors.dropped, (std::set<Party>{1}));
    const Endorsements endorsements{{2, {9, 9}}};
    EXPECT_EQ(std::get<AskUnmasking>(round_trip(ask(AskUnmasking{endorsements})).ask).endorsements, endorsements);
}

TEST(SecureConvert, RepliesComeBack) {
    EXPECT_EQ(std::get<Declined>(round_trip(reply(Declined{"no keys"})).answer).reason, "no keys");
    EXPECT_EQ(std::get<Announced>(round_trip(reply(announced(3)), route).answer).keys.sealing, key(3));
    const SealedShares shares{{1, {1, 2, 3}}};
    EXPECT_EQ(std::get<SealedShares>(round_trip(reply(shares)).answer), shares);
    // All bytes are good: integers of a ring look like anything, NaN included.
    const MaskedNumbers masked{std::vector<std::uint8_t>(300'001, 0xff), {8, 1}};
    EXPECT_EQ(std::get<MaskedNumbers>(round_trip(reply(masked)).answer).bytes, masked.bytes);
    EXPECT_EQ(std::get<MaskedNumbers>(round_trip(reply(masked)).answer).signature, (Signature{8, 1}));
    EXPECT_EQ(std::get<Endorsement>(round_trip(reply(Endorsement{{7}})).answer).signature, Signature{7});
    const Unmasking unmasking{{{0, key(1)}, {3, key(2)}}, {{1, key(3)}}};
    const auto back = std::get<Unmasking>(round_trip(reply(unmasking)).answer);
    EXPECT_EQ(back.alive, unmasking.alive);
    EXPECT_EQ(back.dropped, unmasking.dropped);
}

TEST(SecureConvert, TermsComeBackAndAreChecked) {
    Welcome welcome;
    welcome.spec.job.aggregate = Aggregate::subspace;
    welcome.spec.job.rank = 4;
    welcome.spec.shield = ShieldTerms{true, 2, PrivacyGuarantee{0.5, 1e-6}, 3.0, NoisePlace::local};
    const auto back = round_trip(Welcome(welcome));
    ASSERT_TRUE(back.spec.shield);
    EXPECT_EQ(back.spec.job.aggregate, Aggregate::subspace);
    EXPECT_TRUE(back.spec.shield->policy);
    EXPECT_EQ(back.spec.shield->colluders, 2);
    EXPECT_EQ(back.spec.shield->guarantee->epsilon, 0.5);
    EXPECT_EQ(back.spec.shield->clip, 3.0);
    EXPECT_EQ(back.spec.shield->noise, NoisePlace::local);
    welcome.spec.shield = ShieldTerms{.policy = false, .mu = 2.5};
    EXPECT_EQ(round_trip(Welcome(welcome)).spec.shield->mu, 2.5);
    welcome.spec.shield = ShieldTerms{.guarantee = PrivacyGuarantee{0.5, 1e-6}, .clip = 3.0, .mu = 2.5};
    EXPECT_NE(refusal([&] { round_trip(Welcome(welcome)); }).find("two budgets"), std::string::npos);
    welcome.spec.shield->mu.reset();
    welcome.spec.shield->noise = NoisePlace::central;
    EXPECT_NE(refusal([&] { round_trip(Welcome(welcome)); }).find("cannot keep"), std::string::npos);
    welcome.spec.shield = ShieldTerms{};
    welcome.spec.job.rank.reset();
    EXPECT_NE(refusal([&] { round_trip(Welcome(welcome)); }).find("secure sums of another job"), std::string::npos);
}

/// A head that a hostile party has written.
std::string changed(const Message& message, const std::function<void(v1::Head&)>& change) {
    v1::Head head;
    head.ParseFromString(encode(message).head);
    change(head);
    const std::string bytes = head.SerializeAsString();
    return refusal([&] {
        parse_head(bytes, "client a");
        assemble(bytes, std::vector<std::byte>(head.payload_bytes()), "client a");
    });
}

TEST(SecureConvert, HostileHeadsAreRefused) {
    const Message keys{route, reply(announced(3))};
    EXPECT_NE(changed(keys, [](v1::Head& h) { h.mutable_secure_reply()->set_answer(6); }).find("unknown step"),
              std::string::npos);
    EXPECT_NE(changed(keys, [](v1::Head& h) { h.mutable_secure_reply()->mutable_keys()->set_masking("x"); })
                  .find("keys of 1 bytes"),
              std::string::npos);
    EXPECT_NE(changed(keys,
                      [](v1::Head& h) {
                          h.mutable_secure_reply()->mutable_keys()->set_certificate(std::string(20'000, 'a'));
                      })
                  .find("too long"),
              std::string::npos);
    const Message numbers{route, reply(MaskedNumbers{{1, 2, 3}, {}})};
    EXPECT_NE(changed(numbers, [](v1::Head& h) { h.mutable_secure_reply()->set_number_bytes(4); }).find("payload"),
              std::string::npos);
    const Message asked{route, ask(AskNumbers{})};
    EXPECT_NE(changed(asked, [](v1::Head& h) { h.mutable_secure_request()->set_counts(7); }).find("7 counts"),
              std::string::npos);
    EXPECT_NE(changed(asked, [](v1::Head& h) { h.mutable_secure_request()->add_alive(255); }).find("party 255"),
              std::string::npos);
    const Message told{route, ask(AskNumbers{{}, {0, 1}, {}, {}, false, {{0, 5, {1, 2}}}})};
    EXPECT_NE(changed(told, [](v1::Head& h) { h.mutable_secure_request()->mutable_opened(0)->set_bytes(7); })
                  .find("a payload of 2 bytes"),
              std::string::npos);
    EXPECT_NE(changed(told, [](v1::Head& h) { h.mutable_secure_request()->mutable_opened(0)->set_bytes(1ULL << 40); })
                  .find("an opened sum"),
              std::string::npos);
    EXPECT_NE(changed(told,
                      [](v1::Head& h) {
                          h.mutable_secure_request()->set_rows(2);
                          h.mutable_secure_request()->set_cols(2);
                      })
                  .find("beside other numbers"),
              std::string::npos);
    const Message survivors{route, ask(AskEndorsement{{{0, 2}, {1}}})};
    EXPECT_NE(changed(survivors, [](v1::Head& h) { h.mutable_secure_request()->add_alive(2); }).find("twice"),
              std::string::npos);
    EXPECT_NE(changed(survivors, [](v1::Head& h) { h.mutable_secure_request()->add_alive(255); }).find("party 255"),
              std::string::npos);
    EXPECT_NE(
        changed(survivors,
                [](v1::Head& h) { h.mutable_secure_request()->set_rows(2), h.mutable_secure_request()->set_cols(2); })
            .find("another step"),
        std::string::npos);
    const Message unmasking{route, reply(Unmasking{{{0, key(1)}}, {}})};
    EXPECT_NE(
        changed(unmasking, [](v1::Head& h) { *h.mutable_secure_reply()->add_alive() = h.secure_reply().alive(0); })
            .find("party 0 twice"),
        std::string::npos);
}

}  // namespace
}  // namespace couplet::wire
