#include "mixed_radix.hpp"

#include <algorithm>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t group_bytes = 64;

/// An unsigned number of 64 bytes, the lowest word first.
struct Group {
    std::array<std::uint64_t, group_bytes / 8> words{};

    /// *this * factor + term; whether that is a number of 64 bytes.
    bool multiply_add(std::uint64_t factor, std::uint64_t term) {
        std::uint64_t carry = term;
        for (std::uint64_t& word : words) {
            const Wide both = static_cast<Wide>(word) * factor + carry;
            word = static_cast<std::uint64_t>(both);
            carry = static_cast<std::uint64_t>(both >> 64);
        }
        return carry == 0;
    }
    /// Becomes the quotient; returns the remainder.
    std::uint64_t divide(std::uint64_t divisor) {
        std::uint64_t rest = 0;
        for (std::size_t i = words.size(); i-- > 0;) {
            const Wide both = (static_cast<Wide>(rest) << 64) | words[i];
            words[i] = static_cast<std::uint64_t>(both / divisor);
            rest = static_cast<std::uint64_t>(both % divisor);
        }
        return rest;
    }
    std::uint8_t byte(std::size_t i) const { return static_cast<std::uint8_t>(words[i / 8] >> (8 * (i % 8))); }
    void set_byte(std::size_t i, std::uint8_t value) {
        words[i / 8] |= static_cast<std::uint64_t>(value) << (8 * (i % 8));
    }
    bool is_zero() const {
        return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
    }
};

/// Of the largest number that so many digits make.
std::size_t bytes_of_part(std::uint64_t modulus, std::size_t digits) {
    Group largest;
    for (std::size_t i = 0; i < digits; ++i) largest.multiply_add(modulus, modulus - 1);
    std::size_t size = group_bytes;
    while (size > 0 && largest.byte(size - 1) == 0) --size;
    return size;
}

}  // namespace

MixedRadix::MixedRadix(std::uint64_t modulus) : modulus_(modulus) {
    for (Group largest; largest.multiply_add(modulus, modulus - 1);) ++whole_;
}

std::size_t MixedRadix::bytes(std::size_t digits) const {
    return digits / whole_ * group_bytes + bytes_of_part(modulus_, digits % whole_);
}

std::vector<std::uint8_t> MixedRadix::pack(std::span<const std::uint64_t> digits) const {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(this->bytes(digits.size()));
    for (std::size_t done = 0; done < digits.size(); done += whole_) {
        const std::size_t count = std::min(whole_, digits.size() - done);
        Group group;
        for (std::size_t i = count; i-- > 0;) group.multiply_add(modulus_, digits[done + i]);
        const std::size_t size = count == whole_ ? group_bytes : bytes_of_part(modulus_, count);
        for (std::size_t i = 0; i < size; ++i) bytes.push_back(group.byte(i));
    }
    return bytes;
}

std::vector<std::uint64_t> MixedRadix::unpack(Bytes bytes, std::size_t digits) const {
    std::vector<std::uint64_t> values;
    values.reserve(digits);
    for (std::size_t at = 0; values.size() < digits; at += group_bytes) {
        const std::size_t count = std::min(whole_, digits - values.size());
        Group group;
        for (std::size_t i = 0; i < std::min(group_bytes, bytes.size() - at); ++i) group.set_byte(i, bytes[at + i]);
        for (std::size_t i = 0; i < count; ++i) values.push_back(group.divide(modulus_));
        if (group.is_zero()) continue;
        throw InputError({"masked numbers", "bytes that are none of a ring modulo " + std::to_string(modulus_),
                          "numbers within the ring", ""});
    }
    return values;
}

}  // namespace couplet
