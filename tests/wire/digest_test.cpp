#include "couplet/wire/digest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace couplet::wire {
namespace {

Hash hash_of(const std::vector<std::string>& parts) {
    Digest digest;
    for (const std::string& part : parts) digest.add(std::as_bytes(std::span(part)));
    return digest.finish();
}

TEST(DigestTest, IsTheSameForTheSameParts) {
    EXPECT_EQ(hash_of({"head", "chunk"}), hash_of({"head", "chunk"}));
    Digest digest;
    digest.add(std::as_bytes(std::span("head", 4)));
    Digest moved = std::move(digest);
    moved.add(std::as_bytes(std::span("chunk", 5)));
    EXPECT_EQ(moved.finish(), hash_of({"head", "chunk"}));
}

/// Parties of another version compute the same: a change here is another protocol.
TEST(DigestTest, IsPartOfTheProtocol) {
    const auto hex = [](const Hash& hash) {
        std::string text;
        for (const std::byte byte : hash) {
            constexpr std::string_view digits = "0123456789abcdef";
            text += digits[std::to_integer<std::size_t>(byte) >> 4];
            text += digits[std::to_integer<std::size_t>(byte) & 15];
        }
        return text;
    };
    EXPECT_EQ(hex(hash_of({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        << "SHA-256 of nothing";
    EXPECT_EQ(hex(hash_of({"head", "chunk", "chunk"})),
              "f8d0e7c6958f036f10d9c0d4714af79e0cbc37b70333239af5877f3f9d79e0ab");
}

TEST(DigestTest, NoticesEveryChangedBitAndEveryOtherOrder) {
    const std::string chunk(1000, 'x');
    const Hash good = hash_of({"head", chunk, chunk});
    for (std::size_t at = 0; at < chunk.size(); at += 37) {
        for (const unsigned bit : {1U, 64U}) {
            std::string bad = chunk;
            bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ bit);
            EXPECT_NE(hash_of({"head", bad, chunk}), good);
            EXPECT_NE(hash_of({"head", chunk, bad}), good);
            EXPECT_NE(hash_of({"head", bad, bad}), good) << "equal changes do not cancel";
        }
    }
    EXPECT_NE(hash_of({"a", "b"}), hash_of({"b", "a"}));
    EXPECT_NE(hash_of({"head", chunk}), good);
    EXPECT_NE(hash_of({"head", chunk + chunk}), hash_of({"head", chunk, chunk}));
    EXPECT_NE(hash_of({std::string(1, '\0')}), hash_of({std::string(2, '\0')})) << "zeros count";
}

}  // namespace
}  // namespace couplet::wire
