#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "couplet/tensor/matrix.hpp"
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

/// Tables of the model, made of integers alone: the same on every machine.
namespace tables {

inline constexpr int odds_range = 1536;  // log odds of 12 in 128ths
inline constexpr int odds_entries = 4096;

/// 65536 / (1 + exp(-x / 128)) for x = 0 ... 1535, from repeated products in fixed point: the same on every machine.
constexpr std::array<std::uint16_t, odds_range> make_probabilities() {
    constexpr std::uint64_t one = std::uint64_t{1} << 32;
    constexpr std::uint64_t factor = 4261543595;  // 2^32 exp(-1/128)
    std::array<std::uint16_t, odds_range> table = {};
    std::uint64_t power = one;
    for (auto& entry : table) {
        entry = static_cast<std::uint16_t>(std::min<std::uint64_t>((one << 16) / (one + power), 65535));
        power = power * factor >> 32;
    }
    return table;
}
inline constexpr auto probabilities = make_probabilities();

constexpr std::uint32_t probability_of(int x) {
    if (x < 0) return 65536 - probability_of(-x);
    return probabilities[static_cast<std::size_t>(std::min(x, odds_range - 1))];
}

/// The x whose probability is just above each of 4096 probabilities.
constexpr std::array<std::int16_t, odds_entries> make_odds() {
    std::array<std::int16_t, odds_entries> table = {};
    int x = 1 - odds_range;
    for (int i = 0; i < odds_entries; ++i) {
        const auto middle = static_cast<std::uint32_t>(16 * i + 8);
        while (x < odds_range - 1 && probability_of(x) < middle) ++x;
        table[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(x);
    }
    return table;
}
inline constexpr auto odds_table = make_odds();

inline constexpr std::uint16_t most_seen = 255;
/// How far a counter moves towards the bit after so many: about 1 / (seen + 1.6), in 65536ths.
constexpr std::array<std::int32_t, most_seen + 1> make_rates() {
    std::array<std::int32_t, most_seen + 1> table = {};
    for (int i = 0; i <= most_seen; ++i) table[static_cast<std::size_t>(i)] = 655360 / (10 * i + 16);
    return table;
}
inline constexpr auto rates = make_rates();

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

/// Natural logarithm of the odds p / (1 - p), in 128ths, of a probability in units of 2^-16.
inline int log_odds(std::uint32_t p) { return tables::odds_table[p >> 4]; }
/// Its inverse, at least 2 and at most 65534: no decision is free or costs more than 15 bits.
inline std::uint32_t odds_probability(int x) { return std::clamp<std::uint32_t>(tables::probability_of(x), 2, 65534); }

/// An adaptive probability: the share of set bits so far, at first of all, later with more weight on the last 255.
struct Counter {
    std::uint16_t p = 1 << 15;
    std::uint16_t seen = 0;

    void update(bool bit) {
        const std::int32_t target = bit ? 65535 : 0;
        const std::int32_t moved = p + (target - p) * (tables::rates[seen] >> 1) / 32768;
        p = static_cast<std::uint16_t>(std::clamp(moved, 32, 65503));
        if (seen < tables::most_seen) ++seen;
    }
};

/// One decision from the opinions of N counters: their log odds, weighted, where weights follow the gradient of the
/// code length (the logistic mixing of Mahoney's PAQ).
template <std::size_t N>
class Mixer {
  public:
    explicit Mixer(std::size_t sets, std::int32_t weight) : weights_(sets, filled(weight)) {}

    template <class Coder>
    bool code(Coder& coder, bool bit, std::size_t set, const std::array<Counter*, N>& counters) {
        std::array<std::int32_t, N>& weights = weights_[set];
        std::array<std::int32_t, N> odds;
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < N; ++k) {
            odds[k] = log_odds(counters[k]->p);
            sum += static_cast<std::int64_t>(weights[k]) * odds[k];
        }
        const std::uint32_t p = odds_probability(static_cast<int>(sum >> 16));
        bit = coder.code(bit, p);
        const std::int32_t error = (bit ? 65535 : 0) - static_cast<std::int32_t>(p);
        for (std::size_t k = 0; k < N; ++k) {
            const std::int32_t step = (odds[k] * error * learning_rate + (1 << 13)) >> 14;
            weights[k] = std::clamp(weights[k] + step, -most_weight, most_weight);
            counters[k]->update(bit);
        }
        return bit;
    }

  private:
    static constexpr std::int32_t learning_rate = 3;
    static constexpr std::int32_t most_weight = std::int32_t{1} << 22;
    static std::array<std::int32_t, N> filled(std::int32_t weight) {
        std::array<std::int32_t, N> result;
        result.fill(weight);
        return result;
    }
    std::vector<std::array<std::int32_t, N>> weights_;
};

/// Codes integers as decisions: is the bit length more than 0, 1, 2, ...; the bits below the leading one, the first two
/// of them adaptive; the sign. Encoder and decoder run the same code, so they cannot disagree.
class IntegerModel {
  public:
    IntegerModel();

    /// The integer that was coded: `value` with an encoder, |value| <= 2^30; what the bytes say with a decoder, whose
    /// caller checks that it is not larger.
    template <class Coder>
    std::int32_t code(Coder& coder, std::int32_t value, const Neighbourhood& near) {
        choose_scales(near);
        const auto magnitude = static_cast<std::uint32_t>(std::abs(value));
        const int length = std::bit_width(magnitude);
        int coded = 0;
        while (coded < longest && decide(coder, coded < length, length_node(coded), length_set(coded))) ++coded;
        if (coded == 0) return 0;
        std::uint32_t result = 1;
        for (int bit = coded - 2; bit >= 0; --bit) {
            const int depth = coded - 2 - bit;
            const bool set = (magnitude >> bit & 1) != 0;
            const bool one =
                depth < 2 ? decide(coder, set, mantissa_node(coded, depth, result & 1), mantissa_set(coded, depth))
                          : coder.code(set, 1U << (probability_bits - 1));
            result = 2 * result + (one ? 1 : 0);
        }
        const bool negative = signs_.code(coder, value < 0, 0, choose_signs(near));
        const auto size = static_cast<std::int32_t>(result);
        return negative ? -size : size;
    }

  private:
    static constexpr int longest = 31;  ///< bits of 2^30
    static constexpr std::size_t nodes = 64;
    static constexpr std::size_t scale_count = 6;
    static constexpr std::size_t sets = 96;

    static std::size_t length_node(int coded) { return static_cast<std::size_t>(std::min(coded, 20)); }
    static std::size_t length_set(int coded) { return length_node(coded); }
    static std::size_t mantissa_node(int length, int depth, std::uint32_t last) {
        return 20 + 3 * static_cast<std::size_t>(std::min(length, 11)) + (depth == 0 ? 0 : 1 + last);
    }
    static std::size_t mantissa_set(int length, int depth) {
        return 32 + 4 * static_cast<std::size_t>(std::min(length, 15)) + static_cast<std::size_t>(depth);
    }

    template <class Coder>
    bool decide(Coder& coder, bool bit, std::size_t node, std::size_t set) {
        std::array<Counter*, scale_count> counters;
        for (std::size_t k = 0; k < scale_count; ++k) counters[k] = scales_[k] + node;
        return lengths_.code(coder, bit, set, counters);
    }
    void choose_scales(const Neighbourhood& near);
    std::array<Counter*, 3> choose_signs(const Neighbourhood& near);

    std::vector<Counter> table_;
    std::array<Counter*, scale_count> scales_ = {};  ///< the nodes of each scale that was chosen
    Mixer<scale_count> lengths_;
    std::array<Counter, 96> sign_counters_ = {};
    Mixer<3> signs_;
};

/// The neighbourhoods of a block in the order of coding, row by row, with running averages.
class Neighbourhoods {
  public:
    Neighbourhoods(Index cols, Index inner);

    /// Of the number at (i, j); those before it in `q` must be there.
    Neighbourhood at(MatrixView<const std::int32_t> q, Index i, Index j) const;
    /// Takes the number at (i, j) into the averages.
    void add(std::int32_t value, Index i, Index j);

  private:
    struct Column {
        std::uint32_t average = 0;
        std::uint32_t near = 0;
    };
    Index inner_;
    std::vector<Column> columns_;
    std::uint32_t row_ = 0;
    std::uint32_t row_near_ = 0;
    std::uint64_t row_sum_ = 0;
};

/// |value| as it counts in averages: at most Neighbourhood::most, in 64ths.
inline std::uint32_t scaled_magnitude(std::int32_t value) {
    return Neighbourhood::unit * static_cast<std::uint32_t>(std::min(std::abs(value), Neighbourhood::most));
}

}  // namespace couplet
