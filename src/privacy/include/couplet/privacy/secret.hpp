#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

namespace couplet {

using Key = std::array<std::uint8_t, 32>;
using Bytes = std::span<const std::uint8_t>;

/// 32 secret bytes that are wiped when they are no longer needed. Movable: what was moved from is wiped too.
class Secret {
  public:
    Secret() = default;
    explicit Secret(const Key& bytes) : bytes_(bytes) {}
    /// From the system's generator.
    static Secret random();
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
    Secret(Secret&& other) noexcept;
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();

    const Key& bytes() const noexcept { return bytes_; }
    Key& bytes() noexcept { return bytes_; }
    void wipe() noexcept;

  private:
    Key bytes_{};
};

/// Where fresh secrets come from: Secret::random, or derived_secrets() for who must come back to them.
using SecretSource = std::function<Secret()>;

/// BLAKE2b.
Key hash_bytes(Bytes text);

/// The library behind this module, made ready once; throws RunError when the system has no source of randomness.
void require_sodium();

}  // namespace couplet
