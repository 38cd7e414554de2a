#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace couplet {

/// Probabilities are in units of 2^-16, at least 1 and at most 65535.
inline constexpr int probability_bits = 16;

/// Binary range coder with a 32-bit range and carries (G. N. N. Martin 1979, in the form of LZMA): a decision costs
/// -log2(p) bits up to about 2^-8 of a bit. The stream starts with a zero byte and ends with four that determine it.
class RangeEncoder {
  public:
    /// Codes `bit`, where `p` is the probability that it is set; returns it.
    bool code(bool bit, std::uint32_t p) {
        const std::uint32_t bound = (range_ >> probability_bits) * p;
        if (bit) {
            range_ = bound;
        } else {
            low_ += bound;
            range_ -= bound;
        }
        while (range_ < least_range) {
            range_ <<= 8;
            shift();
        }
        return bit;
    }
    std::vector<std::byte> finish() &&;

    static constexpr std::uint32_t least_range = std::uint32_t{1} << 24;

  private:
    void shift();

    std::vector<std::byte> bytes_;
    std::uint64_t low_ = 0;
    std::uint32_t range_ = 0xffffffff;
    std::uint8_t held_ = 0;   ///< the last byte that is known but for a carry
    std::int64_t count_ = 1;  ///< of held bytes: that one and the 0xff after it
};

class RangeDecoder {
  public:
    /// Throws InputError when there is no room for a stream.
    explicit RangeDecoder(std::span<const std::byte> bytes);

    /// The next bit; the first argument is what an encoder would code and means nothing here. Throws InputError at the
    /// end of the bytes.
    bool code(bool, std::uint32_t p) {
        const std::uint32_t bound = (range_ >> probability_bits) * p;
        const bool bit = code_ < bound;
        if (bit) {
            range_ = bound;
        } else {
            code_ -= bound;
            range_ -= bound;
        }
        while (range_ < RangeEncoder::least_range) {
            range_ <<= 8;
            code_ = (code_ << 8) | next();
        }
        return bit;
    }
    /// Throws InputError unless the stream ends here.
    void finish() const;

  private:
    std::uint32_t next() {
        if (position_ == bytes_.size()) refuse_end();
        return std::to_integer<std::uint32_t>(bytes_[position_++]);
    }
    [[noreturn]] static void refuse_end();

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
    std::uint32_t code_ = 0;
    std::uint32_t range_ = 0xffffffff;
};

}  // namespace couplet
