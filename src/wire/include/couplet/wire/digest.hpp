#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace couplet::wire {

inline constexpr std::size_t hash_bytes = 32;
using Hash = std::array<std::byte, hash_bytes>;

/// SHA-256 of bytes that come piece by piece.
class Digest {
  public:
    Digest();
    ~Digest();
    Digest(Digest&&) noexcept;
    Digest& operator=(Digest&&) noexcept;

    void add(std::span<const std::byte> bytes);
    /// Of everything added; call once.
    Hash finish();

  private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace couplet::wire
