#include "mixing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/random.hpp"

namespace couplet {
namespace {

TEST(Mixing, OddsAndProbabilitiesAreInverse) {
    for (int x = -1000; x <= 1000; ++x) {
        const double exact = 65536 / (1 + std::exp(-x / 128.0));
        EXPECT_NEAR(odds_probability(x), exact, 1.5) << x;
        if (std::abs(x) < 700) {
            EXPECT_NEAR(log_odds(odds_probability(x)), x, 6) << x;
        }
    }
    EXPECT_EQ(odds_probability(-100000), 2U);
    EXPECT_EQ(odds_probability(100000), 65534U);
    for (std::uint32_t p = 1; p < 65536; ++p) ASSERT_GE(log_odds(p), log_odds(p - 1));
}

TEST(Mixing, ACounterLearnsAShare) {
    Counter counter;
    for (int i = 0; i < 2000; ++i) PlainMixing::learn(i % 10 == 0, counter);
    EXPECT_NEAR(counter.p / 65536.0, 0.1, 0.03);
    EXPECT_EQ(counter.rate, Counter::least_rate);
    for (int i = 0; i < 10000; ++i) PlainMixing::learn(true, counter);
    EXPECT_LE(counter.p, 65535 - Counter::least_p);
    for (int i = 0; i < 10000; ++i) PlainMixing::learn(false, counter);
    EXPECT_GE(counter.p, Counter::least_p);
}

TEST(Mixing, TheFirstBitsCountAsAShareOfAll) {
    Counter counter;
    int set = 0;
    for (int n = 1; n <= 8; ++n) {
        set += n % 2;
        PlainMixing::learn(n % 2 != 0, counter);
        EXPECT_NEAR(counter.p / 65536.0, static_cast<double>(set) / n, 0.2) << n;
    }
}

/// Takes every decision as it is and remembers its probability.
struct Recorder {
    std::vector<std::uint32_t> probabilities;

    bool code(bool bit, std::uint32_t p) {
        probabilities.push_back(p);
        return bit;
    }
};

/// Probabilities of a long run of decisions over a few counters, some of which are right and some wrong.
template <std::size_t N, class Mixing>
std::vector<std::uint32_t> decided() {
    Random random(17);
    Mixer<N, Mixing> mixer(3, 2458);
    std::vector<Counter> table(N * 8);
    Recorder recorder;
    for (int i = 0; i < 20000; ++i) {
        const auto place = random.below(8);
        std::array<Counter*, N> counters;
        for (std::size_t k = 0; k < N; ++k) {
            counters[k] = table.data() + 8 * k + (k == 0 ? place : random.below(8));
        }
        // From all but certain to all but impossible, so that weights and counters reach their ends.
        mixer.code(recorder, random.below(1000) < 2 + 142 * place, random.below(3), counters);
    }
    return recorder.probabilities;
}

TEST(Mixing, EightAtATimeAreThePlainNumbers) {
    EXPECT_EQ((decided<6, FastMixing>()), (decided<6, PlainMixing>()));
    EXPECT_EQ((decided<3, FastMixing>()), (decided<3, PlainMixing>()));
}

TEST(Mixing, TrustsWhoIsRight) {
    const auto probabilities = decided<6, PlainMixing>();
    // The first counter knows the probability, the others nothing; a mix that trusts it costs little more than that.
    Random random(17);
    double cost = 0;
    double ideal = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
        const auto place = random.below(8);
        for (int k = 1; k < 6; ++k) random.below(8);
        const double known = static_cast<double>(2 + 142 * place) / 1000;
        const bool bit = random.below(1000) < 2 + 142 * place;
        random.below(3);
        if (i < 2000) continue;
        cost -= std::log2(bit ? probabilities[i] / 65536.0 : 1 - probabilities[i] / 65536.0);
        ideal -= std::log2(bit ? known : 1 - known);
    }
    EXPECT_LT(cost, 1.05 * ideal);
}

}  // namespace
}  // namespace couplet
