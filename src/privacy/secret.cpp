#include "couplet/privacy/secret.hpp"

#include <sodium.h>

#include "couplet/core/error.hpp"

namespace couplet {

void require_sodium() {
    static const int ready = ::sodium_init();
    if (ready < 0) throw RunError({"libsodium", "not ready", "a system with a source of randomness", ""});
}

Key hash_bytes(Bytes text) {
    require_sodium();
    Key hash;
    ::crypto_generichash(hash.data(), hash.size(), text.data(), text.size(), nullptr, 0);
    return hash;
}

Secret Secret::random() {
    require_sodium();
    Secret secret;
    ::randombytes_buf(secret.bytes_.data(), secret.bytes_.size());
    return secret;
}

Secret::Secret(Secret&& other) noexcept : bytes_(other.bytes_) { other.wipe(); }

Secret& Secret::operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    bytes_ = other.bytes_;
    other.wipe();
    return *this;
}

Secret::~Secret() { wipe(); }

void Secret::wipe() noexcept { ::sodium_memzero(bytes_.data(), bytes_.size()); }

}  // namespace couplet
