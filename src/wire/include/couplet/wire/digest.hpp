#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace couplet::wire {

inline constexpr std::size_t hash_bytes = 32;
using Hash = std::array<std::byte, hash_bytes>;

/// Hash of a message: SHA-256 over the AES-GMAC tags and lengths of its parts, in order. SHA-256 of the bytes
/// themselves would cost more than encrypting them; the tags cost a tenth. Both sides must cut a message into the same
/// parts.
class Digest {
  public:
    Digest();
    ~Digest();
    Digest(Digest&&) noexcept;
    Digest& operator=(Digest&&) noexcept;

    void add(std::span<const std::byte> part);
    /// Of everything added; call once.
    Hash finish();

  private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace couplet::wire
