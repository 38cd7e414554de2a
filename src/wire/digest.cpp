#include "couplet/wire/digest.hpp"

#include <openssl/evp.h>

#include <new>

namespace couplet::wire {

struct Digest::Context {
    EVP_MD_CTX* handle = EVP_MD_CTX_new();
    Context() {
        if (handle == nullptr || EVP_DigestInit_ex(handle, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
    }
    ~Context() { EVP_MD_CTX_free(handle); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
};

Digest::Digest() : context_(std::make_unique<Context>()) {}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::span<const std::byte> bytes) {
    // Fails only on a context without a digest.
    EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size());
}

Hash Digest::finish() {
    Hash hash{};
    EVP_DigestFinal_ex(context_->handle, reinterpret_cast<unsigned char*>(hash.data()), nullptr);
    return hash;
}

}  // namespace couplet::wire
