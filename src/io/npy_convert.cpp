#include "couplet/io/npy_convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/io/fortran.hpp"

namespace couplet {
namespace {

/// "<i8" as its parts; NumPy writes single bytes with '|'.
struct Kind {
    bool swapped = false;
    char letter = '?';
    Index bytes = 0;
};

std::optional<Kind> kind_of(const std::string& descr) {
    if (descr.size() != 3 || descr[2] < '1' || descr[2] > '8') return std::nullopt;
    const Kind kind{descr[0] == '>', descr[1], descr[2] - '0'};
    const bool whole = kind.letter == 'i' || kind.letter == 'u';
    const bool power = std::has_single_bit(static_cast<unsigned>(kind.bytes));
    if (whole && power) return kind;
    if (kind.letter == 'b' && kind.bytes == 1) return kind;
    if (kind.letter == 'f' && (kind.bytes == 2 || (kind.swapped && (kind.bytes == 4 || kind.bytes == 8)))) return kind;
    return std::nullopt;
}

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
double half(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    double value = std::ldexp(exponent == 0 ? fraction : 1024 + fraction, std::max(exponent, 1) - 25);
    if (exponent == 31) {
        value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

template <class T>
T load(const std::byte* at, bool swapped) {
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, at, sizeof(T));
    if (swapped) std::reverse(bytes, bytes + sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

/// Whole numbers of 64 bits may be finer than float64 is.
template <class T>
double exact(T whole, const std::string& where) {
    constexpr T most = T{1} << 53;
    const bool fits = whole <= most && (std::is_unsigned_v<T> || whole >= static_cast<T>(-most));
    if (fits) return static_cast<double>(whole);
    throw InputError({where, fmt::format("the whole number {}", whole),
                      "whole numbers up to 2^53, as float64 holds them",
                      "Use smaller units, or give x.astype('<f8') if rounding does no harm."});
}

double element(const std::byte* at, const Kind& kind, const std::string& where) {
    const bool sign = kind.letter == 'i';
    switch (kind.bytes) {
        case 1:
            if (kind.letter == 'b') return *at == std::byte{0} ? 0 : 1;
            return sign ? static_cast<double>(load<std::int8_t>(at, false))
                        : static_cast<double>(load<std::uint8_t>(at, false));
        case 2:
            if (kind.letter == 'f') return half(load<std::uint16_t>(at, kind.swapped));
            return sign ? static_cast<double>(load<std::int16_t>(at, kind.swapped))
                        : static_cast<double>(load<std::uint16_t>(at, kind.swapped));
        case 4:
            if (kind.letter == 'f') return load<float>(at, kind.swapped);
            return sign ? static_cast<double>(load<std::int32_t>(at, kind.swapped))
                        : static_cast<double>(load<std::uint32_t>(at, kind.swapped));
        default:
            if (kind.letter == 'f') return load<double>(at, kind.swapped);
            return sign ? exact(load<std::int64_t>(at, kind.swapped), where)
                        : exact(load<std::uint64_t>(at, kind.swapped), where);
    }
}

}  // namespace

std::optional<std::string> convertible_elements(const NpyHeader& header) {
    const auto kind = kind_of(header.descr);
    if (!kind) return std::nullopt;
    if (kind->letter == 'b') return "bool";
    const char* name = kind->letter == 'f' ? "float" : kind->letter == 'i' ? "int" : "uint";
    return fmt::format("{}{}{}", kind->swapped && kind->bytes > 1 ? "big-endian " : "", name, 8 * kind->bytes);
}

Tensor<double> convert_elements(std::span<const std::byte> bytes, const NpyHeader& header, const std::string& where) {
    const Kind kind = kind_of(header.descr).value();
    NpyHeader as_doubles = header;
    as_doubles.descr = "<f8";
    require_tensor_header(as_doubles, where);
    check_npy_size(header, static_cast<Index>(bytes.size()), where);
    Tensor<double> values(header.shape);
    const std::byte* at = bytes.data() + header.data_offset;
    for (Index i = 0; i < values.size(); ++i) values.data()[i] = element(at + i * kind.bytes, kind, where);
    if (!header.fortran_order || header.shape.order() == 1) return values;
    return from_fortran<double>(reinterpret_cast<const std::byte*>(values.data()), header.shape);
}

}  // namespace couplet
