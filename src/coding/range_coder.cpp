#include "range_coder.hpp"

#include <string>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::size_t tail_bytes = 5;  // of a stream without a decision: the zero and four that determine it

}  // namespace

void RangeEncoder::shift() {
    constexpr std::uint64_t top = std::uint64_t{0xff} << 24;
    const bool carry = low_ >> 32 != 0;
    if (carry || low_ < top) {
        std::uint8_t byte = held_;
        for (; count_ > 0; --count_) {
            bytes_.push_back(std::byte(static_cast<std::uint8_t>(byte + (carry ? 1 : 0))));
            byte = 0xff;
        }
        held_ = static_cast<std::uint8_t>(low_ >> 24);
    }
    ++count_;
    low_ = (low_ & 0x00ffffff) << 8;
}

std::vector<std::byte> RangeEncoder::finish() && {
    for (std::size_t i = 0; i < tail_bytes; ++i) shift();
    return std::move(bytes_);
}

RangeDecoder::RangeDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (next() != 0) throw InputError({"coded numbers", "bytes that do not start with 0", "a stream of them", ""});
    for (std::size_t i = 1; i < tail_bytes; ++i) code_ = (code_ << 8) | next();
}

void RangeDecoder::refuse_end() { throw InputError({"coded numbers", "the end of the bytes", "more of them", ""}); }

void RangeDecoder::finish() const {
    if (position_ != bytes_.size()) {
        throw InputError({"coded numbers", std::to_string(bytes_.size() - position_) + " bytes too many",
                          "none after the last number", ""});
    }
    // The encoder ends with its lower bound itself, so nothing is left of the difference.
    if (code_ != 0) throw InputError({"coded numbers", "an end that no encoder writes", "a stream of them", ""});
}

}  // namespace couplet
