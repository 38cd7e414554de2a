#include "couplet/privacy/ring.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

// Masks are drawn by parts that fit the cache.
constexpr std::size_t part_numbers = 4096;

template <class Word>
void add_stream(std::span<std::uint64_t> values, const Secret& key, std::uint64_t mask, Sign sign) {
    std::vector<Word> words(std::min(values.size(), part_numbers));
    static_assert(std::endian::native == std::endian::little, "the stream is read as little-endian words");
    const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
    constexpr std::size_t block = 64;
    std::uint64_t counter = 0;
    for (std::size_t done = 0; done < values.size(); done += words.size()) {
        const std::size_t count = std::min(words.size(), values.size() - done);
        const std::size_t bytes = count * sizeof(Word);
        std::memset(words.data(), 0, bytes);
        auto* raw = reinterpret_cast<unsigned char*>(words.data());
        ::crypto_stream_chacha20_xor_ic(raw, raw, bytes, nonce, counter, key.bytes().data());
        counter += (bytes + block - 1) / block;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t drawn = words[i];
            std::uint64_t& value = values[done + i];
            value = (sign == Sign::plus ? value + drawn : value - drawn) & mask;
        }
    }
    ::sodium_memzero(words.data(), words.size() * sizeof(Word));
}

}  // namespace

Ring::Ring(int bits) : bits_(bits), mask_(bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {
    if (bits < 1 || bits > 64) throw InputError({"ring", std::to_string(bits) + " bits", "1 to 64", ""});
}

std::int64_t Ring::centred(std::uint64_t value) const noexcept {
    const int unused = 64 - bits_;
    return static_cast<std::int64_t>(value << unused) >> unused;
}

std::size_t Ring::packed_bytes(std::size_t numbers) const noexcept {
    return (numbers * static_cast<std::size_t>(bits_) + 7) / 8;
}

std::vector<std::uint8_t> Ring::pack(std::span<const std::uint64_t> values) const {
    std::vector<std::uint8_t> bytes(packed_bytes(values.size()), 0);
    std::size_t at = 0;  // in bits
    for (const std::uint64_t value : values) {
        for (int done = 0; done < bits_;) {
            const int free = 8 - static_cast<int>(at % 8);
            const int take = std::min(free, bits_ - done);
            const auto part = static_cast<unsigned>((value >> done) & ((1U << take) - 1));
            bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | (part << (at % 8)));
            done += take;
            at += static_cast<std::size_t>(take);
        }
    }
    return bytes;
}

std::vector<std::uint64_t> Ring::unpack(Bytes bytes, std::size_t numbers) const {
    if (bytes.size() != packed_bytes(numbers)) {
        throw InputError({"masked numbers", std::to_string(bytes.size()) + " bytes",
                          std::to_string(packed_bytes(numbers)) + " for " + std::to_string(numbers) + " numbers", ""});
    }
    std::vector<std::uint64_t> values(numbers, 0);
    std::size_t at = 0;
    for (std::uint64_t& value : values) {
        for (int done = 0; done < bits_;) {
            const int free = 8 - static_cast<int>(at % 8);
            const int take = std::min(free, bits_ - done);
            const std::uint64_t part = (static_cast<unsigned>(bytes[at / 8]) >> (at % 8)) & ((1U << take) - 1);
            value |= part << done;
            done += take;
            at += static_cast<std::size_t>(take);
        }
    }
    return values;
}

void add_mask(std::span<std::uint64_t> values, const Secret& key, const Ring& ring, Sign sign) {
    require_sodium();
    if (values.empty()) return;
    if (ring.bits() <= 32) {
        add_stream<std::uint32_t>(values, key, ring.mask(), sign);
    } else {
        add_stream<std::uint64_t>(values, key, ring.mask(), sign);
    }
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
        result.push_back(static_cast<std::uint64_t>(std::llround(value / how.step)) & how.ring.mask());
    }
    return result;
}

std::vector<double> decode_fixed(std::span<const std::uint64_t> values, const FixedPoint& how) {
    std::vector<double> result;
    result.reserve(values.size());
    for (const std::uint64_t value : values) {
        result.push_back(static_cast<double>(how.ring.centred(value & how.ring.mask())) * how.step);
    }
    return result;
}

}  // namespace couplet
