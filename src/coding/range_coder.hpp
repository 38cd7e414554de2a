#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace couplet {

/// Probabilities are in units of 2^-16, at least 1 and at most 65535.
inline constexpr int probability_bits = 16;
/// Bits of equal probability that one call codes at most.
inline constexpr int most_plain_bits = 16;

/// Binary range coder (G. N. N. Martin 1979) with a range of 64 bits, of which 32 leave at a time: a decision costs
/// -log2(p) bits up to about 2^-16 of a bit, and most of them move no bytes. A stream is a multiple of four bytes long;
/// the last four are the smallest that determine it.
class RangeEncoder {
  public:
    static constexpr std::uint64_t least_range = std::uint64_t{1} << 32;

    /// Codes `bit`, where `p` is the probability that it is set; returns it.
    bool code(bool bit, std::uint32_t p) {
        const std::uint64_t bound = (range_ >> probability_bits) * p;
        // What a bit will be is as good as random: a mask costs less than a branch.
        const std::uint64_t clear = bit ? 0 : ~std::uint64_t{0};
        add(bound & clear);
        range_ = bound + ((range_ - 2 * bound) & clear);
        shift();
        return bit;
    }
    /// Codes the `count` lowest bits of `bits`, each as likely set as not; returns them. The others must be 0.
    std::uint32_t code_plain(std::uint32_t bits, int count) {
        range_ >>= count;
        add(range_ * bits);
        shift();
        return bits;
    }
    std::vector<std::byte> finish() &&;
    /// Bytes written so far.
    std::size_t size() const noexcept { return bytes_.size(); }

  private:
    void add(std::uint64_t value) {
        low_ += value;
        if (low_ < value) carry();
    }
    void shift() {
        if (range_ >= least_range) return;
        range_ <<= 32;
        write();
    }
    void carry();
    void write();

    std::vector<std::byte> bytes_;
    std::uint64_t low_ = 0;
    std::uint64_t range_ = ~std::uint64_t{0};
};

class RangeDecoder {
  public:
    explicit RangeDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
        code_ = std::uint64_t{next()} << 32;
        code_ |= next();
    }

    /// The next bit; the first argument is what an encoder would code and means nothing here. Throws InputError at the
    /// end of the bytes.
    bool code(bool, std::uint32_t p) {
        const std::uint64_t bound = (range_ >> probability_bits) * p;
        const bool bit = code_ < bound;
        const std::uint64_t clear = bit ? 0 : ~std::uint64_t{0};
        code_ -= bound & clear;
        range_ = bound + ((range_ - 2 * bound) & clear);
        shift();
        return bit;
    }
    /// The same for bits that are as likely set as not.
    std::uint32_t code_plain(std::uint32_t, int count) {
        range_ >>= count;
        const std::uint64_t bits = code_ / range_;
        if (bits >> count != 0) refuse_stream();
        code_ -= range_ * bits;
        shift();
        return static_cast<std::uint32_t>(bits);
    }
    /// Throws InputError unless the stream ends here.
    void finish() const;

  private:
    void shift() {
        if (range_ >= RangeEncoder::least_range) return;
        range_ <<= 32;
        code_ = code_ << 32 | next();
    }
    /// Four bytes; after the last of them, once, zeros: an encoder does not write the lower half of its last number.
    std::uint32_t next();
    [[noreturn]] static void refuse_stream();

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
    std::uint64_t code_ = 0;
    std::uint64_t range_ = ~std::uint64_t{0};
};

}  // namespace couplet
