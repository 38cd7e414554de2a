#include "range_coder.hpp"

#include <string>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::size_t word = 4;

}  // namespace

void RangeEncoder::carry() {
    for (auto byte = bytes_.rbegin(); byte != bytes_.rend(); ++byte) {
        *byte = std::byte(static_cast<std::uint8_t>(std::to_integer<unsigned>(*byte) + 1));
        if (*byte != std::byte{0}) return;
    }
}

void RangeEncoder::write() {
    for (int bits = 56; bits >= 32; bits -= 8) bytes_.push_back(std::byte(static_cast<std::uint8_t>(low_ >> bits)));
    low_ <<= 32;
}

std::vector<std::byte> RangeEncoder::finish() && {
    // The range holds exactly one multiple of 2^32 that is at most this far above its lower end.
    add(least_range - 1);
    write();
    return std::move(bytes_);
}

std::uint32_t RangeDecoder::next() {
    const std::size_t at = position_;
    position_ += word;
    if (at == bytes_.size()) return 0;
    if (at + word > bytes_.size()) {
        throw InputError({"coded numbers", "the end of the bytes", "more of them", ""});
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < word; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at + i]);
    return value;
}

void RangeDecoder::refuse_stream() {
    throw InputError({"coded numbers", "bytes that no encoder writes", "a stream of them", ""});
}

void RangeDecoder::finish() const {
    if (position_ != bytes_.size() + word) {
        throw InputError({"coded numbers", std::to_string(bytes_.size()) + " bytes",
                          std::to_string(position_ - word) + " for numbers like these", ""});
    }
    if (code_ >= RangeEncoder::least_range) refuse_stream();
}

}  // namespace couplet
