#include "sum_keys.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace couplet {

void put(ByteText& to, std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) to.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
}
void put(ByteText& to, Bytes bytes) {
    for (const std::uint8_t byte : bytes) to.push_back(byte);
}
void put(ByteText& to, const char* text) {
    put(to, Bytes(reinterpret_cast<const std::uint8_t*>(text), std::strlen(text) + 1));
}
void put(ByteText& to, const std::set<Party>& parties) {
    put(to, static_cast<std::uint64_t>(parties.size()));
    for (const Party party : parties) put(to, static_cast<std::uint64_t>(party));
}

std::string party_name(Party party) { return "client " + std::to_string(party + 1); }

namespace {

// A sealing key serves one session, one pair and one direction, so the nonce may be fixed.
constexpr std::size_t nonce_bytes = crypto_aead_chacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_bytes = crypto_aead_chacha20poly1305_ietf_ABYTES;

ByteText associated(const Key& session, Party from, Party to) {
    ByteText text;
    put(text, "couplet shares");
    put(text, session);
    put(text, static_cast<std::uint64_t>(from));
    put(text, static_cast<std::uint64_t>(to));
    return text;
}

}  // namespace

ByteText seal_shares(const Secret& key, ByteText plain, const ShareRoute& route) {
    const ByteText about = associated(route.session, route.from, route.to);
    ByteText sealed(plain.size() + tag_bytes);
    const unsigned char nonce[nonce_bytes] = {};
    ::crypto_aead_chacha20poly1305_ietf_encrypt(sealed.data(), nullptr, plain.data(), plain.size(), about.data(),
                                                about.size(), nullptr, nonce, key.bytes().data());
    ::sodium_memzero(plain.data(), plain.size());
    return sealed;
}

std::optional<std::vector<Secret>> open_shares(const Secret& key, const ByteText& sealed, const ShareRoute& route,
                                               std::size_t count) {
    const ByteText about = associated(route.session, route.from, route.to);
    ByteText plain(count * sizeof(Key));
    if (sealed.size() != plain.size() + tag_bytes) return std::nullopt;
    const unsigned char nonce[nonce_bytes] = {};
    const int opened =
        ::crypto_aead_chacha20poly1305_ietf_decrypt(plain.data(), nullptr, nullptr, sealed.data(), sealed.size(),
                                                    about.data(), about.size(), nonce, key.bytes().data());
    if (opened != 0) return std::nullopt;
    std::vector<Secret> shares(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(shares[i].bytes().data(), plain.data() + i * sizeof(Key), sizeof(Key));
    }
    ::sodium_memzero(plain.data(), plain.size());
    return shares;
}

void wipe(std::vector<Key>& shares) { ::sodium_memzero(shares.data(), shares.size() * sizeof(Key)); }

namespace {

Key keyed_hash(const Secret& key, const ByteText& about) {
    Key result;
    ::crypto_generichash(result.data(), result.size(), about.data(), about.size(), key.bytes().data(),
                         key.bytes().size());
    return result;
}

}  // namespace

Secret own_stream(const Secret& seed, const Key& session) {
    ByteText about;
    put(about, "couplet own mask");
    put(about, session);
    return Secret(keyed_hash(seed, about));
}

Key commitment(const Secret& seed) {
    ByteText about;
    put(about, "couplet seed");
    return keyed_hash(seed, about);
}

void add_to(std::span<std::uint64_t> values, const SumTerms& sum, const Secret& stream, Sign sign) {
    MaskStream masks(stream);
    for (const Stretch& stretch : sum.stretches) {
        const auto count = static_cast<std::size_t>(stretch.numbers);
        masks.add(values.first(count), stretch.ring, sign);
        values = values.subspan(count);
    }
}

Secret mask_seed(const Secret& own, const Key& other, const Key& session, Party a, Party b) {
    return shared_key(own, other, session, "mask", std::min(a, b), std::max(a, b));
}

std::int64_t SumTerms::length() const noexcept {
    std::int64_t length = 0;
    for (const Stretch& stretch : stretches) length += stretch.numbers;
    return length;
}

std::size_t sealed_bytes(int sums) noexcept { return 2 * sizeof(Key) * static_cast<std::size_t>(sums) + tag_bytes; }

Key session_of(const KeyTerms& terms) {
    require_sodium();
    ByteText text;
    put(text, "couplet secure sums 3");
    put(text, terms.job);
    put(text, static_cast<std::uint64_t>(terms.first));
    put(text, static_cast<std::uint64_t>(terms.sums));
    put(text, static_cast<std::uint64_t>(terms.threshold));
    put(text, terms.told);
    return hash_bytes(text);
}

Key session_of(const Key& keys, const SumTerms& sum, const std::set<Party>& members) {
    require_sodium();
    ByteText text;
    put(text, "couplet secure sum 3");
    put(text, keys);
    put(text, static_cast<std::uint64_t>(sum.sum));
    put(text, static_cast<std::uint64_t>(sum.stretches.size()));
    for (const Stretch& stretch : sum.stretches) {
        put(text, static_cast<std::uint64_t>(stretch.numbers));
        put(text, stretch.ring.modulus());
        put(text, std::bit_cast<std::uint64_t>(stretch.step));
    }
    put(text, sum.told);
    put(text, members);
    return hash_bytes(text);
}

std::vector<std::uint8_t> advertisement_text(const Key& session, Party party, const Advertisement& keys) {
    ByteText text;
    put(text, "couplet keys");
    put(text, session);
    put(text, static_cast<std::uint64_t>(party));
    put(text, keys.sealing);
    for (const auto* each : {&keys.masking, &keys.seeds}) {
        put(text, static_cast<std::uint64_t>(each->size()));
        for (const Key& key : *each) put(text, key);
    }
    return text;
}

std::vector<std::uint8_t> numbers_text(const Key& session, Party party) {
    ByteText text;
    put(text, "couplet numbers");
    put(text, session);
    put(text, static_cast<std::uint64_t>(party));
    return text;
}

std::vector<std::uint8_t> survivors_text(const Key& session, const Survivors& survivors) {
    ByteText text;
    put(text, "couplet survivors");
    put(text, session);
    put(text, survivors.alive);
    put(text, survivors.dropped);
    return text;
}

Key public_key(const Secret& key) {
    Key result;
    ::crypto_scalarmult_base(result.data(), key.bytes().data());
    return result;
}

Secret shared_key(const Secret& own, const Key& other, const Key& session, const char* purpose, Party a, Party b) {
    Secret point;
    if (::crypto_scalarmult(point.bytes().data(), own.bytes().data(), other.data()) != 0) {
        throw InputError({"key exchange", "a key of small order", "a key that a client made", ""});
    }
    ByteText about;
    put(about, purpose);
    put(about, session);
    put(about, static_cast<std::uint64_t>(a));
    put(about, static_cast<std::uint64_t>(b));
    Secret key;
    ::crypto_generichash(key.bytes().data(), key.bytes().size(), about.data(), about.size(), point.bytes().data(),
                         point.bytes().size());
    return key;
}

Identity::Identity(Secret seed) : seed_(std::move(seed)) {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    ::crypto_sign_seed_keypair(verifying_.data(), secret, seed_.bytes().data());
    ::sodium_memzero(secret, sizeof secret);
}

Signature Identity::sign(Bytes message) const {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    Key unused;
    ::crypto_sign_seed_keypair(unused.data(), secret, seed_.bytes().data());
    Signature signature(crypto_sign_BYTES);
    ::crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret);
    ::sodium_memzero(secret, sizeof secret);
    return signature;
}

bool verify_signature(const Key& verifying, Bytes message, const Signature& signature) {
    require_sodium();
    return signature.size() == crypto_sign_BYTES &&
           ::crypto_sign_verify_detached(signature.data(), message.data(), message.size(), verifying.data()) == 0;
}

void add_pairwise_masks(std::span<std::uint64_t> values, const SumTerms& sum, const Key& session, Party self,
                        const Secret& masking_key, const std::map<Party, Key>& members) {
    for (const auto& [other, key] : members) {
        if (other == self) continue;
        const Secret seed = mask_seed(masking_key, key, session, self, other);
        add_to(values, sum, seed, other > self ? Sign::plus : Sign::minus);
    }
}

}  // namespace couplet
