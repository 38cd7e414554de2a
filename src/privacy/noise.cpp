#include "couplet/privacy/noise.hpp"

#include <sodium.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/privacy/discrete_gaussian.hpp"

namespace couplet {

std::string_view to_string(NoisePlace place) noexcept {
    constexpr std::string_view names[] = {"local", "central", "distributed"};
    return names[static_cast<int>(place)];
}

std::string_view protects_against(NoisePlace place) noexcept {
    switch (place) {
        case NoisePlace::local:
            return "everybody, the coordinator included";
        case NoisePlace::central:
            return "everybody but the coordinator, which sees the sums without noise";
        case NoisePlace::distributed:
            return "everybody, the coordinator included, unless more clients collude with it than allowed for";
    }
    return "";
}

NoisePlan plan_noise(PrivacyGuarantee guarantee, double clip, int releases, NoisePlace place, std::int64_t clients,
                     std::int64_t survivors, std::int64_t colluders) {
    if (!(clip > 0) || !std::isfinite(clip)) throw InputError({"`clip`", std::to_string(clip), "a positive norm", ""});
    if (survivors <= colluders || survivors > clients) {
        throw InputError(
            {"noise of the clients",
             std::to_string(survivors) + " survivors, " + std::to_string(colluders) + " of whom may collude",
             "more survivors than colluders, and no more than clients", ""});
    }
    NoisePlan plan{guarantee, place, clip, releases};
    const double sensitivity = clip * clip;
    plan.sigma = gaussian_sigma(guarantee, sensitivity, releases);
    plan.rho = gaussian_rho(plan.sigma, sensitivity, releases);
    const auto all = static_cast<double>(clients);
    switch (place) {
        case NoisePlace::local:
            plan.own = plan.sigma;
            plan.in_sum = plan.sigma * std::sqrt(all);
            break;
        case NoisePlace::central:
            plan.in_sum = plan.sigma;
            break;
        case NoisePlace::distributed:
            plan.own = plan.sigma / std::sqrt(static_cast<double>(survivors - colluders));
            plan.in_sum = plan.own * std::sqrt(all);
            break;
    }
    return plan;
}

double expected_loss(const NoisePlan& plan, std::int64_t patients, std::int64_t features, std::int64_t rank,
                     std::optional<std::int64_t> width) {
    return std::min(1.0, patients_for_loss(plan, 1, features, rank, width) / static_cast<double>(patients));
}

double patients_for_loss(const NoisePlan& plan, double loss, std::int64_t features, std::int64_t rank,
                         std::optional<std::int64_t> width) {
    const double root = std::sqrt(static_cast<double>(features));
    const double norm = width ? root + std::sqrt(static_cast<double>(*width)) : 2 * root;
    return 2 * static_cast<double>(rank) * plan.in_sum * norm / (plan.clip * plan.clip) / loss;
}

double noise_cost(const NoisePlan& plan, const NoisyEnergy& seen, std::int64_t features, std::int64_t rank,
                  std::optional<std::int64_t> width) {
    constexpr double deviations = 4;
    const double off = deviations * plan.in_sum * std::sqrt(static_cast<double>(seen.numbers));
    const double least = seen.squares - off;
    if (!(least > 0)) return 1;
    return std::min(1.0, patients_for_loss(plan, 1, features, rank, width) * plan.clip * plan.clip / least);
}

NoiseSource::NoiseSource(Secret key) : key_(std::move(key)) { require_sodium(); }

NoiseSource NoiseSource::repeatable(std::uint64_t seed, std::uint64_t stream) {
    require_sodium();
    std::uint8_t text[16];
    std::memcpy(text, &seed, 8);
    std::memcpy(text + 8, &stream, 8);
    Key key;
    ::crypto_generichash(key.data(), key.size(), text, sizeof text, nullptr, 0);
    return NoiseSource(Secret(key));
}

std::uint64_t NoiseSource::word() {
    if (used_ + sizeof(std::uint64_t) > bytes_.size()) {
        constexpr std::size_t block = 64;
        bytes_.fill(0);
        const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
        ::crypto_stream_chacha20_xor_ic(bytes_.data(), bytes_.data(), bytes_.size(), nonce, block_,
                                        key_.bytes().data());
        block_ += bytes_.size() / block;
        used_ = 0;
    }
    std::uint64_t drawn = 0;
    std::memcpy(&drawn, bytes_.data() + used_, sizeof drawn);
    used_ += sizeof drawn;
    return drawn;
}

std::uint64_t noise_variance(double sigma, double step, double clip, std::int64_t numbers) {
    const double change = clip / step * clip;
    const double steps = sigma / step * (rounded_sensitivity(change, numbers) / change);
    if (!(steps >= 1 && steps * steps <= static_cast<double>(most_noise_variance))) {
        throw InputError({"noise", std::to_string(steps) + " steps of the fixed point", "1 to 2^25",
                          "Choose `clip` and `dp_epsilon` of usual sizes."});
    }
    return static_cast<std::uint64_t>(std::ceil(steps * steps));
}

void add_noise(std::span<std::uint64_t> values, const Ring& ring, std::uint64_t variance, NoiseSource& source) {
    for (std::uint64_t& value : values) {
        value = ring.sum(value, ring.of(discrete_gaussian(source, variance)));
    }
}

}  // namespace couplet
