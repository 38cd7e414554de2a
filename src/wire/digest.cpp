#include "couplet/wire/digest.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace couplet::wire {
namespace {

constexpr std::size_t tag_bytes = 16;
// Known to everybody: the tag finds accidents. TLS keeps attackers out.
constexpr std::array<unsigned char, 16> key{'c', 'o', 'u', 'p', 'l', 'e', 't', ' ',
                                            'm', 'e', 's', 's', 'a', 'g', 'e', 1};

}  // namespace

struct Digest::Context {
    EVP_MAC* kind = EVP_MAC_fetch(nullptr, "GMAC", nullptr);
    EVP_MAC_CTX* mac = EVP_MAC_CTX_new(kind);
    EVP_MD_CTX* hash = EVP_MD_CTX_new();
    std::uint64_t parts = 0;

    Context() {
        if (mac == nullptr || hash == nullptr || EVP_DigestInit_ex(hash, EVP_sha256(), nullptr) != 1) {
            throw std::bad_alloc();
        }
    }
    ~Context() {
        EVP_MD_CTX_free(hash);
        EVP_MAC_CTX_free(mac);
        EVP_MAC_free(kind);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// AES-128-GMAC with the number of the part as nonce.
    std::array<unsigned char, tag_bytes> tag(std::span<const std::byte> part) {
        std::array<char, 12> cipher{"AES-128-GCM"};
        std::array<unsigned char, 12> nonce{};
        std::memcpy(nonce.data(), &parts, sizeof(parts));
        const std::array<OSSL_PARAM, 3> settings{
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher.data(), 0),
            OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce.data(), nonce.size()),
            OSSL_PARAM_construct_end()};
        std::array<unsigned char, tag_bytes> result{};
        std::size_t size = 0;
        const auto* bytes = reinterpret_cast<const unsigned char*>(part.data());
        if (EVP_MAC_init(mac, key.data(), key.size(), settings.data()) != 1 ||
            EVP_MAC_update(mac, bytes, part.size()) != 1 ||
            EVP_MAC_final(mac, result.data(), &size, result.size()) != 1) {
            throw std::bad_alloc();
        }
        return result;
    }
};

Digest::Digest() : context_(std::make_unique<Context>()) {}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::span<const std::byte> part) {
    const auto tag = context_->tag(part);
    const std::uint64_t size = part.size();
    // Fails only on a context without a digest.
    EVP_DigestUpdate(context_->hash, &size, sizeof(size));
    EVP_DigestUpdate(context_->hash, tag.data(), tag.size());
    ++context_->parts;
}

Hash Digest::finish() {
    Hash hash{};
    EVP_DigestFinal_ex(context_->hash, reinterpret_cast<unsigned char*>(hash.data()), nullptr);
    return hash;
}

}  // namespace couplet::wire
