#pragma once

#include <array>
#include <cstdint>

namespace couplet {

/// Seeded generator (xoshiro256++, Blackman and Vigna 2019) with distributions of our own, so that a seed
/// gives the same numbers with every compiler and standard library. Equal (seed, stream) pairs give equal
/// sequences; different streams of one seed are independent.
class Random {
  public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept;

    std::uint64_t next() noexcept;
    /// Uniform on [0, 1), 53 random bits.
    double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
    /// Standard normal (Marsaglia's polar method).
    double normal() noexcept;
    /// Uniform on {0, ..., bound - 1} without modulo bias; bound > 0.
    std::uint64_t below(std::uint64_t bound) noexcept;

  private:
    std::array<std::uint64_t, 4> state_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace couplet
