#include "couplet/coding/integers.hpp"

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

}  // namespace

std::vector<std::byte> encode_integers(MatrixView<const std::int32_t> q, Index inner) {
    require_sizes(q.rows, q.cols, inner);
    RangeEncoder encoder;
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
    return std::move(encoder).finish();
}

void decode_integers(std::span<const std::byte> bytes, Index inner, MatrixView<std::int32_t> q) {
    require_sizes(q.rows, q.cols, inner);
    RangeDecoder decoder(bytes);
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
    decoder.finish();
}

}  // namespace couplet
