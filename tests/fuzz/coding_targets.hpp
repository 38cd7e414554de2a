#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "couplet/coding/integers.hpp"
#include "couplet/core/error.hpp"

/// Coded integers. An input is rows, columns and inner size, a byte each, and the stream.
namespace couplet::fuzz {

inline int integers(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const Index rows = data[0];
    const Index cols = data[1];
    const Index inner = data[2];
    const auto stream = std::as_bytes(std::span(data, size)).subspan(3);
    std::vector<std::int32_t> values(static_cast<std::size_t>(rows * cols));
    try {
        decode_integers(stream, inner, {values.data(), rows, cols});
    } catch (const InputError&) {
        return 0;  // the expected answer to bad bytes
    }
    const auto again = encode_integers({values.data(), rows, cols}, inner);
    if (!std::ranges::equal(again, stream)) throw std::logic_error("one stream for each block");
    return 0;
}

}  // namespace couplet::fuzz
