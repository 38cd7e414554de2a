#include "couplet/privacy/ring.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "couplet/core/error.hpp"
#include "mixed_radix.hpp"

namespace couplet {
namespace {

constexpr std::size_t stream_block = 64;
// Masks are drawn by parts that fit the cache.
constexpr std::size_t part_blocks = 256;

std::vector<std::uint8_t> pack_bits(std::span<const std::uint64_t> values, int bits, std::size_t size) {
    std::vector<std::uint8_t> bytes(size, 0);
    std::size_t at = 0;  // in bits
    for (const std::uint64_t value : values) {
        for (int done = 0; done < bits;) {
            const int free = 8 - static_cast<int>(at % 8);
            const int take = std::min(free, bits - done);
            const auto part = static_cast<unsigned>((value >> done) & ((1U << take) - 1));
            bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | (part << (at % 8)));
            done += take;
            at += static_cast<std::size_t>(take);
        }
    }
    return bytes;
}

std::vector<std::uint64_t> unpack_bits(Bytes bytes, int bits, std::size_t numbers) {
    std::vector<std::uint64_t> values(numbers, 0);
    std::size_t at = 0;
    for (std::uint64_t& value : values) {
        for (int done = 0; done < bits;) {
            const int free = 8 - static_cast<int>(at % 8);
            const int take = std::min(free, bits - done);
            const std::uint64_t part = (static_cast<unsigned>(bytes[at / 8]) >> (at % 8)) & ((1U << take) - 1);
            value |= part << done;
            done += take;
            at += static_cast<std::size_t>(take);
        }
    }
    return values;
}

}  // namespace

Ring::Ring(int bits) : bits_(bits), modulus_(bits >= 64 ? 0 : std::uint64_t{1} << std::max(bits, 0)) {
    if (bits < 1 || bits > 64) throw InputError({"ring", std::to_string(bits) + " bits", "1 to 64", ""});
}

Ring Ring::modulo(std::uint64_t modulus) {
    constexpr std::uint64_t most = std::uint64_t{1} << 63;
    if (modulus < 2 || modulus > most) {
        throw InputError({"ring", "modulo " + std::to_string(modulus), "2 to 2^63", ""});
    }
    return {static_cast<int>(std::bit_width(modulus - 1)), modulus};
}

std::uint64_t Ring::reduced(std::uint64_t value) const noexcept {
    return is_power() ? value & largest() : value % modulus_;
}

std::uint64_t Ring::sum(std::uint64_t a, std::uint64_t b) const noexcept {
    const std::uint64_t both = a + b;
    if (is_power()) return both & largest();
    return both >= modulus_ ? both - modulus_ : both;
}

std::uint64_t Ring::difference(std::uint64_t a, std::uint64_t b) const noexcept {
    if (is_power()) return (a - b) & largest();
    return a >= b ? a - b : a + (modulus_ - b);
}

std::uint64_t Ring::of(std::int64_t value) const noexcept {
    if (is_power()) return static_cast<std::uint64_t>(value) & largest();
    const auto whole = static_cast<std::int64_t>(modulus_);
    const std::int64_t rest = value % whole;
    return static_cast<std::uint64_t>(rest < 0 ? rest + whole : rest);
}

std::int64_t Ring::centred(std::uint64_t value) const noexcept {
    if (is_power()) {
        const int unused = 64 - bits_;
        return static_cast<std::int64_t>(value << unused) >> unused;
    }
    const auto own = static_cast<std::int64_t>(value);
    return value > largest() / 2 ? own - static_cast<std::int64_t>(modulus_) : own;
}

std::size_t Ring::packed_bytes(std::size_t numbers) const {
    if (is_power()) return (numbers * static_cast<std::size_t>(bits_) + 7) / 8;
    return MixedRadix(modulus_).bytes(numbers);
}

std::vector<std::uint8_t> Ring::pack(std::span<const std::uint64_t> values) const {
    return is_power() ? pack_bits(values, bits_, packed_bytes(values.size())) : MixedRadix(modulus_).pack(values);
}

std::vector<std::uint64_t> Ring::unpack(Bytes bytes, std::size_t numbers) const {
    if (bytes.size() != packed_bytes(numbers)) {
        throw InputError({"masked numbers", std::to_string(bytes.size()) + " bytes",
                          std::to_string(packed_bytes(numbers)) + " for " + std::to_string(numbers) + " numbers", ""});
    }
    return is_power() ? unpack_bits(bytes, bits_, numbers) : MixedRadix(modulus_).unpack(bytes, numbers);
}

std::size_t packed_bytes(std::span<const Stretch> stretches) {
    std::size_t bytes = 0;
    for (const Stretch& one : stretches) bytes += one.ring.packed_bytes(static_cast<std::size_t>(one.numbers));
    return bytes;
}

std::vector<std::uint8_t> pack(std::span<const Stretch> stretches, std::span<const std::uint64_t> values) {
    std::vector<std::uint8_t> bytes;
    for (const Stretch& one : stretches) {
        const auto part = one.ring.pack(values.first(static_cast<std::size_t>(one.numbers)));
        bytes.insert(bytes.end(), part.begin(), part.end());
        values = values.subspan(static_cast<std::size_t>(one.numbers));
    }
    return bytes;
}

std::vector<std::uint64_t> unpack(std::span<const Stretch> stretches, Bytes bytes) {
    const std::size_t expected = packed_bytes(stretches);
    if (bytes.size() != expected) {
        throw InputError({"masked numbers", std::to_string(bytes.size()) + " bytes", std::to_string(expected), ""});
    }
    std::vector<std::uint64_t> values;
    for (const Stretch& one : stretches) {
        const auto count = static_cast<std::size_t>(one.numbers);
        const std::size_t size = one.ring.packed_bytes(count);
        const auto part = one.ring.unpack(bytes.first(size), count);
        values.insert(values.end(), part.begin(), part.end());
        bytes = bytes.subspan(size);
    }
    return values;
}

MaskStream::MaskStream(const Secret& key) : key_(key.bytes()), drawn_(part_blocks * stream_block), at_(drawn_.size()) {
    require_sodium();
}

MaskStream::~MaskStream() { ::sodium_memzero(drawn_.data(), drawn_.size()); }

template <class Word>
Word MaskStream::next() {
    static_assert(std::endian::native == std::endian::little, "the stream is read as little-endian words");
    if (at_ + sizeof(Word) > drawn_.size()) {
        const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
        std::memset(drawn_.data(), 0, drawn_.size());
        ::crypto_stream_chacha20_xor_ic(drawn_.data(), drawn_.data(), drawn_.size(), nonce, block_,
                                        key_.bytes().data());
        block_ += part_blocks;
        at_ = 0;
    }
    Word word = 0;
    std::memcpy(&word, drawn_.data() + at_, sizeof word);
    at_ += sizeof word;
    return word;
}

template <class Word>
void MaskStream::add_words(std::span<std::uint64_t> values, const Ring& ring, Sign sign) {
    constexpr std::uint64_t most = std::numeric_limits<Word>::max();
    // Of the words, those beyond the last whole round of the ring; none where it is a power of two.
    const std::uint64_t over = ring.modulus() == 0 ? 0 : (most % ring.modulus() + 1) % ring.modulus();
    for (std::uint64_t& value : values) {
        std::uint64_t word = next<Word>();
        while (word > most - over) word = next<Word>();
        const std::uint64_t mask = ring.reduced(word);
        value = sign == Sign::plus ? ring.sum(value, mask) : ring.difference(value, mask);
    }
}

void MaskStream::add(std::span<std::uint64_t> values, const Ring& ring, Sign sign) {
    if (ring.bits() <= 32) {
        add_words<std::uint32_t>(values, ring, sign);
    } else {
        add_words<std::uint64_t>(values, ring, sign);
    }
}

void add_mask(std::span<std::uint64_t> values, const Secret& key, const Ring& ring, Sign sign) {
    MaskStream(key).add(values, ring, sign);
}

FixedPoint agree_fixed_point(double bound, std::int64_t terms, int precision) {
    if (!(bound > 0) || !std::isfinite(bound)) {
        throw InputError({"scale of the sums", std::to_string(bound), "a positive bound", ""});
    }
    if (terms < 1 || precision < 1 || precision > 60) {
        throw InputError({"scale of the sums", std::to_string(terms) + " terms, " + std::to_string(precision) + " bits",
                          "at least one term, and 1 to 60 bits", ""});
    }
    // Every term may round away from zero by half a step; one more bit is the sign.
    const double largest = std::ldexp(1.0, precision) + static_cast<double>(terms);
    const int bits = static_cast<int>(std::floor(std::log2(largest))) + 2;
    if (bits > 64) throw InputError({"scale of the sums", std::to_string(terms) + " terms", "fewer clients", ""});
    return {std::ldexp(bound, -precision), Ring(bits)};
}

std::vector<std::uint64_t> encode_fixed(std::span<const double> values, const FixedPoint& how, double bound) {
    std::vector<std::uint64_t> result;
    result.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        if (!(std::abs(value) <= bound)) {
            throw InputError({"number " + std::to_string(i + 1) + " of a sum", std::to_string(value),
                              "at most " + std::to_string(bound) + " in magnitude, as the job agreed",
                              "A number that does not fit would spoil the sum of all; nothing was sent."});
        }
        result.push_back(how.ring.of(std::llround(value / how.step)));
    }
    return result;
}

std::vector<double> decode_fixed(std::span<const std::uint64_t> values, const FixedPoint& how) {
    std::vector<double> result;
    result.reserve(values.size());
    for (const std::uint64_t value : values) {
        result.push_back(static_cast<double>(how.ring.centred(how.ring.reduced(value))) * how.step);
    }
    return result;
}

}  // namespace couplet
