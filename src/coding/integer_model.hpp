#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "couplet/tensor/matrix.hpp"
#include "mixing.hpp"
#include "range_coder.hpp"

namespace couplet {

/// What is known of a number before it is coded. Averages are of magnitudes, in 64ths. Whatever lies outside the block
/// counts as 0, and no magnitude as more than 2^20.
struct Neighbourhood {
    static constexpr std::int32_t most = std::int32_t{1} << 20;
    static constexpr std::uint32_t unit = 64;

    std::uint32_t row = 0;                   ///< decaying average along the row, over some 32 numbers
    std::uint32_t row_near = 0;              ///< over some 4
    std::uint32_t column = 0;                ///< of the numbers above in the column, over some 6
    std::uint32_t column_near = 0;           ///< over some 2
    std::array<std::int32_t, 2> left = {};   ///< the nearest first
    std::array<std::int32_t, 2> above = {};  ///< in the column
    /// In the matrix that the row is, of the line before: to the right of this position, above it, to the left of it.
    std::array<std::int32_t, 3> plane = {};
    bool has_plane = false;
};

namespace tables {

constexpr std::array<std::int64_t, 33> make_reciprocals() {
    std::array<std::int64_t, 33> table = {};
    for (int i = 1; i < 33; ++i) table[static_cast<std::size_t>(i)] = 65536 / i;
    return table;
}
inline constexpr auto reciprocals = make_reciprocals();

}  // namespace tables

/// value + (target - value) / over, rounded down: one step of a decaying average. Requires 1 <= over <= 32.
inline std::uint32_t averaged(std::uint32_t value, std::uint32_t target, Index over) {
    const std::int64_t difference = static_cast<std::int64_t>(target) - static_cast<std::int64_t>(value);
    return static_cast<std::uint32_t>(value + (difference * tables::reciprocals[static_cast<std::size_t>(over)] >> 16));
}

/// Over how many numbers a new one counts in an average of at most `most`: all there are at the beginning.
inline Index average_over(Index before, Index most) { return std::min(before + 1, most); }

/// Bucket of a value, four to an octave: 0, 1, 2, 3, then 4 for 4, 5 for 5, ... below 128.
inline std::uint32_t bucket(std::uint32_t value) {
    if (value < 4) return value;
    const auto top = static_cast<std::uint32_t>(std::bit_width(value)) - 1;
    return 4 * (top - 1) + ((value >> (top - 2)) & 3);
}

inline std::uint32_t magnitude(std::int32_t value) { return static_cast<std::uint32_t>(std::abs(value)); }

/// |value| as it counts in averages: at most Neighbourhood::most, in 64ths.
inline std::uint32_t scaled_magnitude(std::int32_t value) {
    return Neighbourhood::unit * static_cast<std::uint32_t>(std::min(std::abs(value), Neighbourhood::most));
}

/// Codes integers as decisions: the bit length, up or down from the one that the neighbours suggest; the bits below the
/// leading one, the first two of them adaptive; the sign. Encoder and decoder run the same code, so they cannot
/// disagree.
template <class Mixing>
class IntegerModel {
  public:
    IntegerModel()
        : table_((single_scales * buckets + coarse * coarse) * nodes), lengths_(sets, 2458), signs_(1, 3250) {}

    /// The integer that was coded: `value` with an encoder, |value| <= 2^30; what the bytes say with a decoder, whose
    /// caller checks that it is not larger.
    template <class Coder>
    std::int32_t code(Coder& coder, std::int32_t value, const Neighbourhood& near) {
        const int expected = choose_scales(near);
        const std::uint32_t size = magnitude(value);
        const int length = code_length(coder, std::bit_width(size), expected);
        if (length == 0) return 0;
        const auto result = static_cast<std::int32_t>(code_mantissa(coder, size, length));
        const bool negative = signs_.code(coder, value < 0, 0, choose_signs(near));
        return negative ? -result : result;
    }

  private:
    static constexpr int longest = 31;  ///< bits of 2^30
    static constexpr std::size_t scale_count = 6;
    // Counters of one scale: 128 buckets; of two scales together: 32 by 32 coarse ones.
    static constexpr std::size_t single_scales = 5;
    static constexpr std::size_t buckets = 128;
    static constexpr std::size_t coarse = 32;
    static constexpr std::size_t nodes = 64;
    static constexpr std::size_t sets = 96;

    enum Way : std::size_t { first, up, down };

    // Within a bucket lengths hardly differ by more than a few bits, so that those 16 (5) apart may share a counter.
    static std::size_t length_node(int threshold, Way way) {
        return 3 * static_cast<std::size_t>(threshold % 16) + way;
    }
    static std::size_t length_set(int threshold, Way way) {
        return 3 * static_cast<std::size_t>(std::min(threshold, 20)) + way;
    }
    static std::size_t mantissa_node(int length, int depth, std::uint32_t last) {
        return 48 + 3 * static_cast<std::size_t>(length % 5) + (depth == 0 ? 0 : 1 + last);
    }
    static std::size_t mantissa_set(int length, int depth) {
        return 64 + 2 * static_cast<std::size_t>(std::min(length, 15)) + static_cast<std::size_t>(depth);
    }

    /// The bit length that was coded. Most are close to what is expected: two or three decisions.
    template <class Coder>
    int code_length(Coder& coder, int length, int expected) {
        const auto longer = [&](int threshold, Way way) {
            return decide(coder, length > threshold, length_node(threshold, way), length_set(threshold, way));
        };
        int coded = expected;
        if (longer(coded, first)) {
            ++coded;
            while (coded < longest && longer(coded, up)) ++coded;
        } else {
            while (coded > 0 && !longer(coded - 1, down)) --coded;
        }
        return coded;
    }

    template <class Coder>
    std::uint32_t code_mantissa(Coder& coder, std::uint32_t size, int length) {
        constexpr int adaptive = 2;
        std::uint32_t result = 1;
        int left = length - 1;
        for (int depth = 0; depth < adaptive && left > 0; ++depth) {
            --left;
            const bool one = decide(coder, (size >> left & 1) != 0, mantissa_node(length, depth, result & 1),
                                    mantissa_set(length, depth));
            result = 2 * result + (one ? 1 : 0);
        }
        while (left > 0) {
            const int count = std::min(left, most_plain_bits);
            left -= count;
            const std::uint32_t mask = (std::uint32_t{1} << count) - 1;
            result = result << count | coder.code_plain(size >> left & mask, count);
        }
        return result;
    }

    template <class Coder>
    bool decide(Coder& coder, bool bit, std::size_t node, std::size_t set) {
        std::array<Counter*, scale_count> counters;
        for (std::size_t k = 0; k < scale_count; ++k) counters[k] = scales_[k] + node;
        return lengths_.code(coder, bit, set, counters);
    }

    /// Takes the counters of the scales around; returns the bit length that they suggest.
    int choose_scales(const Neighbourhood& near) {
        const std::uint32_t left = 2 * magnitude(near.left[0]) + magnitude(near.left[1]);
        const std::uint32_t above = 2 * magnitude(near.above[0]) + magnitude(near.above[1]);
        const std::uint32_t plane = magnitude(near.plane[0]) + 2 * magnitude(near.plane[1]) + magnitude(near.plane[2]);
        const std::uint32_t row = bucket(near.row / 4);
        const std::uint32_t column = bucket(near.column / 4);
        const auto blend = static_cast<std::uint32_t>(
            (3ULL * near.row + 2ULL * near.column + 2ULL * near.row_near + near.column_near) / 16);
        const std::array<std::uint32_t, single_scales> single = {
            row, column, bucket(2 * (left + above)), bucket(blend),
            near.has_plane ? bucket(2 * (left + plane)) : bucket(4 * left)};
        for (std::size_t k = 0; k < single_scales; ++k) scales_[k] = table_.data() + (k * buckets + single[k]) * nodes;
        scales_[single_scales] =
            table_.data() + (single_scales * buckets + coarse_bucket(row) * coarse + coarse_bucket(column)) * nodes;
        return std::max(0, static_cast<int>(std::bit_width(blend / (Neighbourhood::unit / 2))) - 1);
    }
    static std::size_t coarse_bucket(std::uint32_t fine) { return std::min<std::size_t>(fine / 2, coarse - 1); }

    std::array<Counter*, 3> choose_signs(const Neighbourhood& near) {
        // A smooth surface goes on as a plane, a smooth line as a line.
        const std::int32_t predicted =
            near.has_plane ? near.left[0] + near.plane[1] - near.plane[2] : 2 * near.left[0] - near.left[1];
        const std::size_t steepness = std::min<std::size_t>(bucket(magnitude(predicted)), 19);
        Counter* const counters = sign_counters_.data();
        return {counters + 5 * sign_class(near.left[0]) + sign_class(near.left[1]),
                counters + 25 + 5 * sign_class(near.plane[1]) + sign_class(predicted),
                counters + 50 + (predicted < 0 ? 20 : 0) + steepness};
    }
    /// 0, small or large, positive or negative.
    static std::size_t sign_class(std::int32_t value) {
        if (value == 0) return 0;
        return value > 0 ? (value > 2 ? 2 : 1) : (value < -2 ? 4 : 3);
    }

    std::vector<Counter> table_;
    std::array<Counter*, scale_count> scales_ = {};  ///< the nodes of each scale that was chosen
    Mixer<scale_count, Mixing> lengths_;
    std::array<Counter, 96> sign_counters_ = {};
    Mixer<3, Mixing> signs_;
};

/// The neighbourhoods of a block in the order of coding, row by row, with running averages.
class Neighbourhoods {
  public:
    Neighbourhoods(Index cols, Index inner)
        : inner_(inner < cols ? inner : 0), columns_(static_cast<std::size_t>(cols)) {}

    /// Of the number at (i, j); those before it in `q` must be there.
    Neighbourhood at(MatrixView<const std::int32_t> q, Index i, Index j) const {
        const Column& column = columns_[static_cast<std::size_t>(j)];
        Neighbourhood near;
        near.row = row_;
        near.row_near = row_near_;
        near.column = column.average;
        near.column_near = column.near;
        const std::int32_t* row = q.row(i);
        if (j > 0) near.left[0] = limited(row[j - 1]);
        if (j > 1) near.left[1] = limited(row[j - 2]);
        if (i > 0) near.above[0] = limited(q(i - 1, j));
        if (i > 1) near.above[1] = limited(q(i - 2, j));
        near.has_plane = inner_ > 0;
        if (inner_ > 0) {
            if (inner_ > 1 && j + 1 >= inner_) near.plane[0] = limited(row[j + 1 - inner_]);
            if (j >= inner_) near.plane[1] = limited(row[j - inner_]);
            if (j > inner_) near.plane[2] = limited(row[j - inner_ - 1]);
        }
        return near;
    }

    /// Takes the number at (i, j) into the averages.
    void add(std::int32_t value, Index i, Index j) {
        const std::uint32_t size = scaled_magnitude(value);
        const auto cols = static_cast<Index>(columns_.size());
        row_ = averaged(row_, size, i == 0 ? average_over(j + 1, 32) : 32);
        row_near_ = averaged(row_near_, size, 4);
        Column& column = columns_[static_cast<std::size_t>(j)];
        column.average = averaged(column.average, size, average_over(i, 6));
        column.near = averaged(column.near, size, average_over(i, 2));
        row_sum_ += size;
        if (j + 1 < cols) return;
        // A row begins with the mean of the one before.
        row_ = static_cast<std::uint32_t>(row_sum_ / static_cast<std::uint64_t>(cols));
        row_near_ = 0;
        row_sum_ = 0;
    }

  private:
    struct Column {
        std::uint32_t average = 0;
        std::uint32_t near = 0;
    };
    static std::int32_t limited(std::int32_t value) {
        return std::clamp(value, -Neighbourhood::most, Neighbourhood::most);
    }

    Index inner_;
    std::vector<Column> columns_;
    std::uint32_t row_ = 0;
    std::uint32_t row_near_ = 0;
    std::uint64_t row_sum_ = 0;
};

}  // namespace couplet
