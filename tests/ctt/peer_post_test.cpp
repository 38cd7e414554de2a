#include "peer_post.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

PeerMessage totals(Index step, Index clients) { return {0, step, 0, body_of(Start{clients, 1, 1})}; }

Index clients_in(const PeerMessage& message) { return std::get<Start>(*message.body).clients; }

TEST(PeerPost, WhatIsSentIsOfTheStepThatIsOpen) {
    PeerPost post;
    EXPECT_EQ(post.step(), -1);
    post.next_step();
    const auto body = body_of(Start{1, 2, 3});
    post.send(4, body);
    post.next_step();
    post.send(5, body, 7);
    const auto sent = post.take();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].to, 4);
    EXPECT_EQ(sent[0].step, 0);
    EXPECT_EQ(sent[0].iteration, 0);
    EXPECT_EQ(sent[1].to, 5);
    EXPECT_EQ(sent[1].step, 1);
    EXPECT_EQ(sent[1].iteration, 7);
    EXPECT_EQ(sent[0].body, sent[1].body) << "a body is shared, not copied";
    EXPECT_TRUE(post.take().empty());
}

TEST(PeerPost, EarlyMessagesWaitForTheirStepAndTheFirstOfASenderCounts) {
    PeerPost post;
    post.keep(3, totals(1, 10));
    post.keep(3, totals(1, 11));
    post.keep(2, totals(1, 12));
    post.keep(2, totals(0, 13));
    const auto first = post.next_step();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(clients_in(first.at(2)), 13);
    const auto second = post.next_step();
    ASSERT_EQ(second.size(), 2U);
    EXPECT_EQ(clients_in(second.at(2)), 12);
    EXPECT_EQ(clients_in(second.at(3)), 10);
    EXPECT_TRUE(post.next_step().empty());
}

}  // namespace
}  // namespace couplet
