#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Digits below M as bytes: as many as fit make one number of 64 bytes, so that a digit costs log2 M bits and next to
/// nothing more. What is left over at the end is a shorter number.
class MixedRadix {
  public:
    explicit MixedRadix(std::uint64_t modulus);
    std::size_t bytes(std::size_t digits) const;
    std::vector<std::uint8_t> pack(std::span<const std::uint64_t> digits) const;
    /// `bytes` are as many as bytes(digits) says. Throws InputError for a number that no such digits make.
    std::vector<std::uint64_t> unpack(Bytes bytes, std::size_t digits) const;

  private:
    std::uint64_t modulus_;
    std::size_t whole_ = 0;  ///< digits in 64 bytes
};

}  // namespace couplet
