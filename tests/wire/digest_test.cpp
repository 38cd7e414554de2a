#include "couplet/wire/digest.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace couplet::wire {
namespace {

std::string hex(const Hash& hash) {
    std::string text;
    for (const std::byte byte : hash) {
        constexpr const char* digits = "0123456789abcdef";
        text += digits[std::to_integer<int>(byte) >> 4];
        text += digits[std::to_integer<int>(byte) & 15];
    }
    return text;
}

// FIPS 180-4, the one-block example.
TEST(DigestTest, IsSha256InWhateverPieces) {
    const std::string text = "abc";
    const auto bytes = std::as_bytes(std::span(text));
    Digest whole;
    whole.add(bytes);
    const std::string expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    EXPECT_EQ(hex(whole.finish()), expected);
    Digest pieces;
    pieces.add(bytes.first(1));
    pieces.add({});
    Digest moved = std::move(pieces);
    moved.add(bytes.subspan(1));
    EXPECT_EQ(hex(moved.finish()), expected);
}

}  // namespace
}  // namespace couplet::wire
