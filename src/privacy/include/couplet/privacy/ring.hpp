#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Integers modulo M: what masked numbers are. Sums wrap, so a mask hides its number completely. M is 2^bits, or any
/// other number: a sum that needs 2,500 values need not be sent as if it had 4,096.
class Ring {
  public:
    /// Modulo 2^bits. Throws InputError unless 1 <= bits <= 64.
    explicit Ring(int bits);
    /// Throws InputError unless 2 <= modulus <= 2^63.
    static Ring modulo(std::uint64_t modulus);
    /// Of the largest number.
    int bits() const noexcept { return bits_; }
    /// 0: 2^64.
    std::uint64_t modulus() const noexcept { return modulus_; }
    std::uint64_t largest() const noexcept { return modulus_ - 1; }
    std::uint64_t reduced(std::uint64_t value) const noexcept;
    /// Of numbers within the ring.
    std::uint64_t sum(std::uint64_t a, std::uint64_t b) const noexcept;
    std::uint64_t difference(std::uint64_t a, std::uint64_t b) const noexcept;
    std::uint64_t of(std::int64_t value) const noexcept;
    /// The integer of least magnitude in its class.
    std::int64_t centred(std::uint64_t value) const noexcept;
    /// Bytes of so many numbers, packed: to the bit where M = 2^bits, otherwise in mixed radix, as many as 64 bytes
    /// hold.
    std::size_t packed_bytes(std::size_t numbers) const;
    std::vector<std::uint8_t> pack(std::span<const std::uint64_t> values) const;
    /// Throws InputError unless there are exactly the bytes that so many numbers need, and each is within the ring.
    std::vector<std::uint64_t> unpack(Bytes bytes, std::size_t numbers) const;
    friend bool operator==(const Ring&, const Ring&) = default;

  private:
    Ring(int bits, std::uint64_t modulus) : bits_(bits), modulus_(modulus) {}
    bool is_power() const noexcept { return (modulus_ & (modulus_ - 1)) == 0; }

    int bits_;
    std::uint64_t modulus_;
};

enum class Sign { plus, minus };

/// The stream of ChaCha20 with one key as numbers that are uniform in whatever ring is asked for next (drawn again
/// where a word lies beyond the largest multiple of the modulus). One key, one stream: a key must never mask two
/// vectors.
class MaskStream {
  public:
    explicit MaskStream(const Secret& key);
    MaskStream(const MaskStream&) = delete;
    MaskStream& operator=(const MaskStream&) = delete;
    ~MaskStream();
    /// Adds (or subtracts) the next numbers of the stream. Cost: one to three nanoseconds a number.
    void add(std::span<std::uint64_t> values, const Ring& ring, Sign sign);

  private:
    template <class Word>
    void add_words(std::span<std::uint64_t> values, const Ring& ring, Sign sign);
    template <class Word>
    Word next();

    Secret key_;
    std::vector<std::uint8_t> drawn_;
    std::size_t at_;
    std::uint64_t block_ = 0;
};

/// Adds (or subtracts) the whole stream of this key.
void add_mask(std::span<std::uint64_t> values, const Secret& key, const Ring& ring, Sign sign);

/// Real numbers as integers of a ring: multiples of a step.
struct FixedPoint {
    double step = 0;
    Ring ring{64};
};

/// So many numbers of a vector in one ring, as multiples of a step.
struct Stretch {
    std::int64_t numbers = 0;
    Ring ring{64};
    double step = 1;
    friend bool operator==(const Stretch&, const Stretch&) = default;
};
/// A vector of such stretches as bytes, each packed by its ring. unpack() throws InputError as Ring's.
std::size_t packed_bytes(std::span<const Stretch> stretches);
std::vector<std::uint8_t> pack(std::span<const Stretch> stretches, std::span<const std::uint64_t> values);
std::vector<std::uint64_t> unpack(std::span<const Stretch> stretches, Bytes bytes);

/// For sums of up to `terms` vectors whose total has no number beyond `bound` in magnitude: a step of bound /
/// 2^precision, and the narrowest ring that holds the sum and the rounding of its terms. Throws InputError unless bound
/// is positive and finite, terms >= 1 and 1 <= precision <= 60 fits.
FixedPoint agree_fixed_point(double bound, std::int64_t terms, int precision = 52);

/// Rounds to the step. Throws InputError, naming the place, for a number that is not finite or beyond `bound`: it is
/// never clipped in silence.
std::vector<std::uint64_t> encode_fixed(std::span<const double> values, const FixedPoint& how, double bound);
std::vector<double> decode_fixed(std::span<const std::uint64_t> values, const FixedPoint& how);

}  // namespace couplet
