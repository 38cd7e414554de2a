#include "couplet/coding/integers.hpp"

#include <array>
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

void encode(RangeEncoder& encoder, MatrixView<const std::int32_t> q, Index inner) {
    require_sizes(q.rows, q.cols, inner);
    IntegerModel model;
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
    }
}

void decode(RangeDecoder& decoder, Index inner, MatrixView<std::int32_t> q) {
    require_sizes(q.rows, q.cols, inner);
    IntegerModel model;
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
    for (const auto& matrix : matrices) encode(encoder, matrix.values, matrix.inner);
    return std::move(encoder).finish();
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
