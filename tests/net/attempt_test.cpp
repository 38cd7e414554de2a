#include "attempt.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

const wire::JobId job{7};
const Attempt::Answered nothing = [](std::uint32_t) { return false; };
const Attempt::Answered everything = [](std::uint32_t) { return true; };

wire::Route route(std::uint32_t attempt, std::uint32_t step) { return {wire::protocol_version, job, attempt, step}; }
wire::StartNotice start() { return {{2, 18, 4}, false}; }

wire::Head head(const wire::Route& at, wire::Kind kind, Index payload_bytes, Index pass = 0) {
    wire::Head result{at, kind, payload_bytes, default_chunk_bytes};
    result.pass = pass;
    return result;
}

TEST(Attempt, TellsTheStartBeforeTheQuestion) {
    Attempt attempt(job, 2, {0, 2});
    EXPECT_TRUE(attempt.has(2));
    EXPECT_FALSE(attempt.has(1));
    EXPECT_FALSE(attempt.next(0, {}, nothing)) << "nothing was asked";
    attempt.ask(start(), true);
    attempt.ask(SumRequest{}, true, 20);
    EXPECT_EQ(attempt.step(), 2U);
    const auto first = attempt.next(0, {}, nothing);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->message->route, route(2, 1));
    EXPECT_TRUE(first->wants_reply);
    EXPECT_FALSE(std::get<wire::StartNotice>(first->message->body).received);
    const auto again = attempt.next(0, {}, everything);
    EXPECT_FALSE(again->wants_reply);
    EXPECT_TRUE(std::get<wire::StartNotice>(again->message->body).received) << "its answer is there";
    const auto second = attempt.next(0, first->message->route, nothing);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->message->kind(), wire::Kind::sum_request);
    EXPECT_FALSE(attempt.next(0, route(2, 1), everything)) << "answered before";
    EXPECT_FALSE(attempt.next(0, route(2, 2), nothing)) << "told already";
    EXPECT_EQ(attempt.next(0, route(1, 9), nothing)->message->route, route(2, 1)) << "of an attempt before";
}

TEST(Attempt, WhoeverDoesNotHoldTheBaseIsToldItAfterTheOrder) {
    Attempt attempt(job, 2, {0});
    attempt.set_base(wire::CentringRequest{{{1}, {}}, true}, route(1, 3));
    attempt.ask(start(), true);
    EXPECT_EQ(attempt.next(0, route(1, 3), nothing)->message->route, route(2, 2)) << "it holds the base";
    const auto order = attempt.next(0, {}, nothing);
    EXPECT_EQ(order->message->route, route(2, 0));
    EXPECT_FALSE(order->wants_reply);
    const auto base = attempt.next(0, route(2, 0), nothing);
    EXPECT_EQ(base->message->kind(), wire::Kind::centring);
    EXPECT_FALSE(base->wants_reply);
    EXPECT_EQ(attempt.next(0, route(2, 1), nothing)->message->route, route(2, 2));
}

TEST(Attempt, ExpectsTheAnswerThatWasAskedFor) {
    Attempt attempt(job, 2, {0});
    attempt.ask(start(), true);
    attempt.ask(SumRequest{1, {}, Matrix<double>::zeros(2, 1)}, true, 20);
    const auto said = [&](const wire::Head& one) { return complaint([&] { attempt.expect(0, one, "client a"); }); };
    EXPECT_EQ(attempt.expect(0, head(route(2, 1), wire::Kind::upload, 99), "client a"), wire::Kind::upload);
    EXPECT_EQ(attempt.expect(0, head(route(2, 2), wire::Kind::sum_reply, 160, 1), "client a"), wire::Kind::sum_reply);
    EXPECT_FALSE(attempt.expect(0, head(route(1, 2), wire::Kind::sum_reply, 160, 1), "client a")) << "left out";
    EXPECT_NE(said(head(route(2, 2), wire::Kind::upload, 160)).find("client a: "), std::string::npos);
    EXPECT_EQ(said(head(route(2, 2), wire::Kind::sum_reply, 168, 1)), "client a: 21 numbers; expected 20");
    EXPECT_EQ(said(head(route(2, 2), wire::Kind::sum_reply, 160, 0)), "client a: a sum for pass 0; expected pass 1");
    EXPECT_EQ(said(head(route(2, 3), wire::Kind::sum_reply, 160, 1)),
              "client a: an answer to question 3 of attempt 2; expected question 2 of attempt 2");
    attempt.ask(SumRequest{2, {}, Matrix<double>::zeros(2, 1)}, true, 20);
    EXPECT_FALSE(attempt.expect(0, head(route(2, 2), wire::Kind::sum_reply, 160, 1), "client a")) << "too late";
}

TEST(Attempt, AsksEachItsOwn) {
    Attempt attempt(job, 1, {0, 1, 2});
    attempt.ask(start(), false);
    std::map<Index, wire::Body> bodies;
    bodies.emplace(0, SecureRequest{});
    bodies.emplace(2, SecureRequest{});
    attempt.ask_each(std::move(bodies), 32);
    EXPECT_TRUE(attempt.asks(2));
    EXPECT_FALSE(attempt.asks(1));
    EXPECT_TRUE(attempt.next(2, route(1, 1), nothing)->wants_reply);
    EXPECT_FALSE(attempt.next(1, route(1, 1), nothing));
    const wire::Route at = route(1, 2);
    EXPECT_EQ(attempt.expect(0, head(at, wire::Kind::secure_reply, 32), "a"), wire::Kind::secure_reply);
    EXPECT_EQ(attempt.expect(0, head(at, wire::Kind::secure_reply, 0), "a"), wire::Kind::secure_reply) << "declined";
    EXPECT_FALSE(attempt.expect(1, head(at, wire::Kind::secure_reply, 32), "a")) << "was not asked";
    EXPECT_EQ(complaint([&] { attempt.expect(0, head(at, wire::Kind::secure_reply, 31), "a"); }),
              "a: 31 bytes of numbers; expected 32");
    attempt.pass_over();
    EXPECT_EQ(attempt.step(), 3U);
    EXPECT_EQ(attempt.asked(), at);
}

}  // namespace
}  // namespace couplet::net
