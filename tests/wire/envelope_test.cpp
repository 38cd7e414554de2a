#include "couplet/wire/envelope.hpp"

#include <gtest/gtest.h>

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

std::vector<Message> some_messages() {
    std::vector<Message> messages;
    messages.push_back({{}, Join{"a", "1.0"}});
    messages.push_back({{protocol_version, {}, 1, 2}, some_upload()});
    messages.push_back({{}, Refusal{"no"}});
    return messages;
}

TEST(Envelope, MessagesComeBackInTheirOrder) {
    const auto back = unpack(pack(some_messages()), "site a");
    ASSERT_EQ(back.size(), 3U);
    EXPECT_EQ(std::get<Join>(back[0].body).name, "a");
    EXPECT_EQ(back[1].route.step, 2U);
    EXPECT_EQ(std::get<Upload>(back[1].body).norm2, some_upload().norm2);
    EXPECT_EQ(std::get<Refusal>(back[2].body).reason, "no");
    EXPECT_TRUE(unpack("", "site a").empty());
}

TEST(Envelope, OneMessageIsOne) {
    EXPECT_EQ(unpack_one(pack(Message{{}, Refusal{"no"}}), "site a").kind(), Kind::refusal);
    EXPECT_NE(refusal([] { unpack_one(pack(some_messages()), "site a"); }).find("site a: 3 messages"),
              std::string::npos);
    EXPECT_NE(refusal([] { unpack_one("", "site a"); }).find("0 messages"), std::string::npos);
}

/// Every byte is covered: by a length, by a check of the head, or by the hash.
TEST(Envelope, WhatIsCutOrChangedIsRefused) {
    const std::string whole = pack(Message{{}, some_upload()});
    for (std::size_t length = 1; length < whole.size(); ++length) {
        EXPECT_NE(refusal([&] { unpack(std::string_view(whole).substr(0, length), "site a"); }), "") << length;
    }
    for (std::size_t at = 0; at < whole.size(); at += 3) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x20);
        EXPECT_NE(refusal([&] { unpack(changed, "site a"); }), "") << at;
    }
}

TEST(Envelope, LengthsAreCheckedBeforeAnythingIsRead) {
    std::string bytes(16, '\xff');
    EXPECT_NE(refusal([&] { unpack(bytes, "site a"); }).find("ends early"), std::string::npos);
    const Limits tight{.max_payload_bytes = 8};
    EXPECT_NE(refusal([&] { unpack(pack(Message{{}, some_upload()}), "site a", tight); }), "");
}

TEST(Envelope, ManyMessagesAtOnceAreRefused) {
    std::string bytes;
    const std::string one = pack(Message{{}, Refusal{""}});
    for (int i = 0; i < 4097; ++i) bytes += one;
    EXPECT_NE(refusal([&] { unpack(bytes, "site a"); }).find("more than 4096"), std::string::npos);
}

}  // namespace
}  // namespace couplet::wire
