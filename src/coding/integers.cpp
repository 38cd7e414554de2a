#include "couplet/coding/integers.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "integer_model.hpp"

namespace couplet {
namespace {

void require_sizes(Index rows, Index cols, Index inner) {
    if (rows >= 0 && cols >= 0 && inner >= 0) return;
    throw InputError({"coded numbers",
                      std::to_string(rows) + "x" + std::to_string(cols) + ", inner " + std::to_string(inner),
                      "sizes of at least 0", ""});
}

/// False: given up. `go_on` is asked after every row.
template <class GoOn>
bool encode(RangeEncoder& encoder, MatrixView<const std::int32_t> q, Index inner, GoOn go_on) {
    require_sizes(q.rows, q.cols, inner);
    IntegerModel<FastMixing> model;
    Neighbourhoods neighbourhoods(q.cols, inner);
    for (Index i = 0; i < q.rows; ++i) {
        for (Index j = 0; j < q.cols; ++j) {
            const std::int32_t value = q(i, j);
            if (value > largest_integer || value < -largest_integer) {
                throw InputError({"number to code", std::to_string(value), "a magnitude of at most 2^30",
                                  "Quantise with a larger step."});
            }
            model.code(encoder, value, neighbourhoods.at(q, i, j));
            neighbourhoods.add(value, i, j);
        }
        if (!go_on(std::span(q.row(i), static_cast<std::size_t>(q.cols)))) return false;
    }
    return true;
}

void decode(RangeDecoder& decoder, Index inner, MatrixView<std::int32_t> q) {
    require_sizes(q.rows, q.cols, inner);
    IntegerModel<FastMixing> model;
    Neighbourhoods neighbourhoods(q.cols, inner);
    for (Index i = 0; i < q.rows; ++i) {
        for (Index j = 0; j < q.cols; ++j) {
            const std::int32_t value = model.code(decoder, 0, neighbourhoods.at(q, i, j));
            if (value > largest_integer || value < -largest_integer) {
                throw InputError({"coded numbers", "a magnitude of more than 2^30", "at most that", ""});
            }
            q(i, j) = value;
            neighbourhoods.add(value, i, j);
        }
    }
}

}  // namespace

std::vector<std::byte> encode_integers(std::span<const IntegerMatrix<const std::int32_t>> matrices) {
    RangeEncoder encoder;
    for (const auto& matrix : matrices) {
        encode(encoder, matrix.values, matrix.inner, [](std::span<const std::int32_t>) { return true; });
    }
    return std::move(encoder).finish();
}

double integer_weight(std::span<const std::int32_t> q) {
    // In tenths of a bit.
    constexpr std::int64_t zero = 2;
    constexpr std::int64_t sign_and_length = 15;
    std::int64_t sum = 0;
    for (const std::int32_t value : q) {
        const int bits = std::bit_width(static_cast<std::uint32_t>(std::abs(value)));
        sum += bits == 0 ? zero : sign_and_length + 10 * bits;
    }
    return static_cast<double>(sum) / 10;
}

std::optional<std::vector<std::byte>> encode_integers_within(
    std::span<const IntegerMatrix<const std::int32_t>> matrices, Index most) {
    // The first numbers take more than their share, because the coder has yet to learn.
    constexpr double first_part = 0.25;
    constexpr double learning = 0.1;
    double total = 0;
    for (const auto& [q, inner] : matrices) {
        total += integer_weight(std::span(q.data, static_cast<std::size_t>(q.rows * q.cols)));
    }
    const auto room = static_cast<double>(most);
    RangeEncoder encoder;
    double done = 0;
    const auto go_on = [&](std::span<const std::int32_t> row) {
        done += integer_weight(row);
        const double part = done / total;
        const auto used = static_cast<double>(encoder.size());
        return used <= room && (part < first_part || used / part <= room * (1 + learning * (1 - part)));
    };
    for (const auto& matrix : matrices) {
        if (!encode(encoder, matrix.values, matrix.inner, go_on)) return std::nullopt;
    }
    auto bytes = std::move(encoder).finish();
    if (static_cast<Index>(bytes.size()) > most) return std::nullopt;
    return bytes;
}

std::vector<std::byte> encode_integers(MatrixView<const std::int32_t> q, Index inner) {
    return encode_integers(std::array{IntegerMatrix<const std::int32_t>{q, inner}});
}

void decode_integers(std::span<const std::byte> bytes, std::span<const IntegerMatrix<std::int32_t>> matrices) {
    RangeDecoder decoder(bytes);
    for (const auto& matrix : matrices) decode(decoder, matrix.inner, matrix.values);
    decoder.finish();
}

void decode_integers(std::span<const std::byte> bytes, Index inner, MatrixView<std::int32_t> q) {
    decode_integers(bytes, std::array{IntegerMatrix<std::int32_t>{q, inner}});
}

}  // namespace couplet
