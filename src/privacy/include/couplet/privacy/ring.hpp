#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Integers modulo 2^bits: what masked numbers are. Sums wrap, so a mask hides its number completely.
class Ring {
  public:
    /// Throws InputError unless 1 <= bits <= 64.
    explicit Ring(int bits);
    int bits() const noexcept { return bits_; }
    std::uint64_t mask() const noexcept { return mask_; }
    /// The integer of least magnitude in its class.
    std::int64_t centred(std::uint64_t value) const noexcept;
    /// Bytes of so many numbers, packed.
    std::size_t packed_bytes(std::size_t numbers) const noexcept;
    std::vector<std::uint8_t> pack(std::span<const std::uint64_t> values) const;
    /// Throws InputError unless there are exactly the bytes that so many numbers need.
    std::vector<std::uint64_t> unpack(Bytes bytes, std::size_t numbers) const;
    friend bool operator==(const Ring&, const Ring&) = default;

  private:
    int bits_;
    std::uint64_t mask_;
};

enum class Sign { plus, minus };

/// Adds (or subtracts) the stream of ChaCha20 with this key, cut to the ring, to every number. One key, one stream: a
/// key must never mask two vectors. Cost: about a nanosecond a number.
void add_mask(std::span<std::uint64_t> values, const Secret& key, const Ring& ring, Sign sign);

/// Real numbers as integers of a ring: multiples of a step.
struct FixedPoint {
    double step = 0;
    Ring ring{64};
};

/// For sums of up to `terms` vectors whose total has no number beyond `bound` in magnitude: a step of bound /
/// 2^precision, and the narrowest ring that holds the sum and the rounding of its terms. Throws InputError unless bound
/// is positive and finite, terms >= 1 and 1 <= precision <= 60 fits.
FixedPoint agree_fixed_point(double bound, std::int64_t terms, int precision = 52);

/// Rounds to the step. Throws InputError, naming the place, for a number that is not finite or beyond `bound`: it is
/// never clipped in silence.
std::vector<std::uint64_t> encode_fixed(std::span<const double> values, const FixedPoint& how, double bound);
std::vector<double> decode_fixed(std::span<const std::uint64_t> values, const FixedPoint& how);

}  // namespace couplet
