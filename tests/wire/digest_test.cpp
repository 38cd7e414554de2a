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
