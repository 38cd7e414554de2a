#include "couplet/privacy/discrete_gaussian.hpp"

#include <bit>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

__extension__ using Wide = unsigned __int128;

int width_of(Wide value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                     : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

/// Uniform on {0, ..., bound - 1}: as many bits as bound - 1 has, until they are below it.
Wide below(NoiseSource& source, Wide bound) {
    const int bits = width_of(bound - 1);
    const Wide mask = bits == 0 ? 0 : ~Wide{0} >> (128 - bits);
    while (true) {
        Wide drawn = source.word();
        if (bits > 64) drawn = drawn << 64 | source.word();
        drawn &= mask;
        if (drawn < bound) return drawn;
    }
}

bool bernoulli(NoiseSource& source, Wide numerator, Wide denominator) { return below(source, denominator) < numerator; }

/// For numerator <= denominator: the first k whose coin of probability (numerator / denominator) / k shows tails is
/// odd.
bool bernoulli_exp_of_part(NoiseSource& source, Wide numerator, Wide denominator) {
    unsigned k = 1;
    while (bernoulli(source, numerator, denominator * k)) ++k;
    return k % 2 == 1;
}

bool bernoulli_exp_wide(NoiseSource& source, Wide numerator, Wide denominator) {
    for (; numerator > denominator; numerator -= denominator) {
        if (!bernoulli_exp_of_part(source, 1, 1)) return false;
    }
    return bernoulli_exp_of_part(source, numerator, denominator);
}

std::uint64_t floor_root(std::uint64_t value) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= value) root += bit;
    }
    return root;
}

}  // namespace

bool bernoulli_exp(NoiseSource& source, std::uint64_t numerator, std::uint64_t denominator) {
    return bernoulli_exp_wide(source, numerator, denominator);
}

std::int64_t discrete_laplace(NoiseSource& source, std::uint64_t scale) {
    // Probability e^-128 for what is cut off: no stream of numbers shows it, and it keeps squares within 128 bits.
    constexpr std::uint64_t most_scales = 128;
    while (true) {
        const auto rest = static_cast<std::uint64_t>(below(source, scale));
        if (!bernoulli_exp_of_part(source, rest, scale)) continue;
        std::uint64_t whole = 0;
        while (whole < most_scales && bernoulli_exp_of_part(source, 1, 1)) ++whole;
        const auto magnitude = static_cast<std::int64_t>(rest + scale * whole);
        const bool negative = (source.word() & 1) != 0;
        if (negative && magnitude == 0) continue;
        return negative ? -magnitude : magnitude;
    }
}

std::int64_t discrete_gaussian(NoiseSource& source, std::uint64_t variance) {
    if (variance < 1 || variance > most_noise_variance) {
        throw InputError({"variance of the noise", std::to_string(variance), "1 to 2^50 squared steps", ""});
    }
    const std::uint64_t scale = floor_root(variance) + 1;
    while (true) {
        const std::int64_t drawn = discrete_laplace(source, scale);
        // Accept with probability exp(-(|k| - variance / scale)^2 / (2 variance)).
        const Wide at = Wide(static_cast<std::uint64_t>(drawn < 0 ? -drawn : drawn)) * scale;
        const Wide off = at > variance ? at - variance : variance - at;
        if (bernoulli_exp_wide(source, off * off, Wide{2} * variance * scale * scale)) return drawn;
    }
}

}  // namespace couplet
