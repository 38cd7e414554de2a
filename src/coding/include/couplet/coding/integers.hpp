#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Largest magnitude of an integer that can be coded.
inline constexpr std::int32_t largest_integer = std::int32_t{1} << 30;
/// Bytes of a stream without a number: none has fewer.
inline constexpr Index least_stream_bytes = 4;
/// Beyond this and 8 bytes a number there is none either.
inline constexpr Index most_extra_bytes = 8;

/// Integers of a quantised block as few bytes: an adaptive binary range coder whose probabilities depend on the
/// magnitudes of numbers coded before, to the left in the same row and above in the same column. Rows ordered by
/// importance and columns of different scales, as blocks of singular vectors have them, cost little more than the
/// entropy of each number at its own scale.
///
/// `inner` says that a row is itself a matrix with rows of that many numbers (the last mode of a tensor), whose
/// neighbours above are then looked at too; 0 or at least q.cols: it is not.
///
/// Integer arithmetic only, and nothing is kept from one call to the next: the same integers give the same bytes on
/// every machine. Memory: less than 1 MiB and 8 bytes a column beside what is coded. Time: in proportion to the bits
/// of the integers, 50 to 100 nanoseconds a number of up to 10 bits; bench/coding measures it.
///
/// Throws InputError for an integer beyond largest_integer, or negative sizes.
std::vector<std::byte> encode_integers(MatrixView<const std::int32_t> q, Index inner);

/// One of several matrices in a stream.
template <class T>
struct IntegerMatrix {
    MatrixView<T> values;
    Index inner = 0;
};

/// Several matrices one after the other; each starts anew with what it knows of its numbers.
std::vector<std::byte> encode_integers(std::span<const IntegerMatrix<const std::int32_t>> matrices);

/// About the bits that integers take: what the coder needs grows with it more than with anything else that is as
/// quickly computed.
double integer_weight(std::span<const std::int32_t> q);

/// The bytes of encode_integers(), or nothing where there are more than `most`: given up as soon as what a quarter of
/// the integers or more took, by their weight, says so. A few per cent too many may be seen where there are none.
std::optional<std::vector<std::byte>> encode_integers_within(
    std::span<const IntegerMatrix<const std::int32_t>> matrices, Index most);

/// Fills q, whose sizes the caller knows and has checked. Bytes may be hostile: never reads outside them, takes time
/// and memory in proportion to the sizes of q, and throws InputError unless they are exactly what encode_integers()
/// gives for some integers of these sizes: none missing, none left.
void decode_integers(std::span<const std::byte> bytes, Index inner, MatrixView<std::int32_t> q);
void decode_integers(std::span<const std::byte> bytes, std::span<const IntegerMatrix<std::int32_t>> matrices);

}  // namespace couplet
