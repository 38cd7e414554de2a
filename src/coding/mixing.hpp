#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace couplet {

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
    const std::uint32_t p = probabilities[static_cast<std::size_t>(std::min(x < 0 ? -x : x, odds_range - 1))];
    return x < 0 ? 65536 - p : p;
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

}  // namespace tables

/// Natural logarithm of the odds p / (1 - p), in 128ths, of a probability in units of 2^-16.
inline std::int16_t log_odds(std::uint32_t p) { return tables::odds_table[p >> 4]; }
/// Its inverse, at least 2 and at most 65534: no decision is free or costs more than 15 bits.
inline std::uint32_t odds_probability(int x) { return std::clamp<std::uint32_t>(tables::probability_of(x), 2, 65534); }

/// An adaptive probability of a set bit: the share of them so far, at first of all, later with more weight on the last
/// hundred.
struct Counter {
    static constexpr std::uint16_t least_p = 32;
    static constexpr std::uint16_t least_rate = 700;

    std::uint16_t p = 1 << 15;
    std::uint16_t rate = 40960;  ///< how far p moves with the next bit, in units of 2^-16
};

/// Weights of eight opinions, 8192 for 1; those that nobody uses stay 0.
struct alignas(16) MixWeights {
    std::array<std::int16_t, 8> of = {};
};
inline constexpr int weight_bits = 13;
inline constexpr std::int16_t learning_rate = 3;

/// What mixing computes, in plain arithmetic; N <= 8.
struct PlainMixing {
    using Odds = std::array<std::int16_t, 8>;

    /// The counters' log odds, each with its weight, in 128ths; `heard` keeps them for learn().
    template <std::size_t N>
    static int mixed(const MixWeights& weights, const std::array<Counter*, N>& counters, Odds& heard) {
        std::int32_t sum = 0;
        heard = {};
        for (std::size_t k = 0; k < N; ++k) {
            heard[k] = log_odds(counters[k]->p);
            sum += std::int32_t{weights.of[k]} * heard[k];
        }
        return sum >> weight_bits;
    }

    /// Weights follow the gradient of the code length, counters the bit. `error`: by how much the probability was too
    /// low, in units of 2^-15.
    template <std::size_t N>
    static void learn(bool bit, std::int16_t error, const Odds& heard, MixWeights& weights,
                      const std::array<Counter*, N>& counters) {
        for (std::size_t k = 0; k < N; ++k) {
            const std::int32_t step = (learning_rate * heard[k] * error + (1 << 15)) >> 16;
            weights.of[k] = static_cast<std::int16_t>(std::clamp(weights.of[k] + step, -32768, 32767));
            learn(bit, *counters[k]);
        }
    }
    static void learn(bool bit, Counter& counter) {
        const std::uint32_t rate = counter.rate;
        std::uint32_t wrong = bit ? 65535U - counter.p : counter.p;
        wrong = std::max<std::uint32_t>(wrong - (wrong * rate >> 16), Counter::least_p);
        counter.p = static_cast<std::uint16_t>(bit ? 65535U - wrong : wrong);
        // r - 3/4 r^2 is nearly r / (1 + r): 1 / n becomes 1 / (n + 1).
        const std::uint32_t square = rate * rate >> 16;
        counter.rate =
            static_cast<std::uint16_t>(std::max<std::uint32_t>(rate - square + (square >> 2), Counter::least_rate));
    }
};

#if defined(__SSE2__)

/// The same numbers, eight at a time. SSE2 is in every 64-bit x86 processor.
struct VectorMixing {
    using Odds = __m128i;

    template <std::size_t N>
    static int mixed(const MixWeights& weights, const std::array<Counter*, N>& counters, Odds& heard) {
        static_assert(N == 3 || N == 6);
        heard = _mm_setzero_si128();
        heard = _mm_insert_epi16(heard, log_odds(counters[0]->p), 0);
        heard = _mm_insert_epi16(heard, log_odds(counters[1]->p), 1);
        heard = _mm_insert_epi16(heard, log_odds(counters[2]->p), 2);
        if constexpr (N == 6) {
            heard = _mm_insert_epi16(heard, log_odds(counters[3]->p), 3);
            heard = _mm_insert_epi16(heard, log_odds(counters[4]->p), 4);
            heard = _mm_insert_epi16(heard, log_odds(counters[5]->p), 5);
        }
        __m128i sum = _mm_madd_epi16(heard, load(weights));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
        return _mm_cvtsi128_si32(sum) >> weight_bits;
    }

    template <std::size_t N>
    static void learn(bool bit, std::int16_t error, const Odds& heard, MixWeights& weights,
                      const std::array<Counter*, N>& counters) {
        const __m128i scaled = _mm_mullo_epi16(heard, _mm_set1_epi16(learning_rate));
        const __m128i errors = _mm_set1_epi16(error);
        const __m128i step =
            _mm_add_epi16(_mm_mulhi_epi16(scaled, errors), _mm_srli_epi16(_mm_mullo_epi16(scaled, errors), 15));
        _mm_store_si128(reinterpret_cast<__m128i*>(weights.of.data()), _mm_adds_epi16(load(weights), step));
        if constexpr (N == 3) {
            for (Counter* counter : counters) PlainMixing::learn(bit, *counter);
        } else {
            learn(bit, counters);
        }
    }

  private:
    static __m128i load(const MixWeights& weights) {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(weights.of.data()));
    }
    static __m128i load(const Counter* counter) { return _mm_cvtsi32_si128(std::bit_cast<std::int32_t>(*counter)); }
    static void store(__m128i first, Counter* counter) { *counter = std::bit_cast<Counter>(_mm_cvtsi128_si32(first)); }
    static __m128i at_least(__m128i values, std::uint16_t least) {
        const __m128i bound = _mm_set1_epi16(static_cast<std::int16_t>(least));
        return _mm_add_epi16(_mm_subs_epu16(values, bound), bound);
    }

    static void learn(bool bit, const std::array<Counter*, 6>& counters) {
        // Probabilities in the lower halves of 32-bit numbers, rates in the upper ones; little endian.
        const __m128i low = _mm_unpacklo_epi64(_mm_unpacklo_epi32(load(counters[0]), load(counters[1])),
                                               _mm_unpacklo_epi32(load(counters[2]), load(counters[3])));
        const __m128i high = _mm_unpacklo_epi32(load(counters[4]), load(counters[5]));
        const auto lower_halves = [](__m128i v) { return _mm_srai_epi32(_mm_slli_epi32(v, 16), 16); };
        const __m128i p = _mm_packs_epi32(lower_halves(low), lower_halves(high));
        const __m128i rate = _mm_packs_epi32(_mm_srai_epi32(low, 16), _mm_srai_epi32(high, 16));

        const __m128i flip = _mm_set1_epi16(static_cast<std::int16_t>(bit ? -1 : 0));
        __m128i wrong = _mm_xor_si128(p, flip);
        wrong = at_least(_mm_sub_epi16(wrong, _mm_mulhi_epu16(wrong, rate)), Counter::least_p);
        const __m128i moved = _mm_xor_si128(wrong, flip);
        const __m128i square = _mm_mulhi_epu16(rate, rate);
        const __m128i slower =
            at_least(_mm_add_epi16(_mm_sub_epi16(rate, square), _mm_srli_epi16(square, 2)), Counter::least_rate);

        const __m128i first = _mm_unpacklo_epi16(moved, slower);
        const __m128i rest = _mm_unpackhi_epi16(moved, slower);
        store(first, counters[0]);
        store(_mm_srli_si128(first, 4), counters[1]);
        store(_mm_srli_si128(first, 8), counters[2]);
        store(_mm_srli_si128(first, 12), counters[3]);
        store(rest, counters[4]);
        store(_mm_srli_si128(rest, 4), counters[5]);
    }
};
using FastMixing = VectorMixing;

#else

using FastMixing = PlainMixing;

#endif

/// One decision from the opinions of N counters: their log odds, weighted, where weights follow the gradient of the
/// code length (the logistic mixing of Mahoney's PAQ). The counters must be different ones.
template <std::size_t N, class Mixing>
class Mixer {
  public:
    Mixer(std::size_t sets, std::int16_t weight) : weights_(sets) {
        for (MixWeights& weights : weights_) std::fill_n(weights.of.begin(), N, weight);
    }

    template <class Coder>
    bool code(Coder& coder, bool bit, std::size_t set, const std::array<Counter*, N>& counters) {
        MixWeights& weights = weights_[set];
        typename Mixing::Odds heard;
        const std::uint32_t p = odds_probability(Mixing::mixed(weights, counters, heard));
        bit = coder.code(bit, p);
        const std::int32_t error = (bit ? 65535 : 0) - static_cast<std::int32_t>(p);
        Mixing::learn(bit, static_cast<std::int16_t>(error >> 1), heard, weights, counters);
        return bit;
    }

  private:
    std::vector<MixWeights> weights_;
};

}  // namespace couplet
