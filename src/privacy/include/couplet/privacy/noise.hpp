#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "couplet/privacy/gaussian.hpp"
#include "couplet/privacy/ring.hpp"
#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Where the noise is added, and so who is kept from what.
/// - local: every client adds all of it to its own sum; private even towards the coordinator, and the sum of K clients
///   has K times the variance.
/// - central: the coordinator adds it once; private towards everybody but the coordinator.
/// - distributed: every client adds a part, under secure aggregation, so that the survivors' parts make the whole.
enum class NoisePlace { local, central, distributed };

/// "local", "central", "distributed".
std::string_view to_string(NoisePlace place) noexcept;
/// In words: "everybody, the coordinator included".
std::string_view protects_against(NoisePlace place) noexcept;

/// What differential privacy costs a job.
struct NoisePlan {
    PrivacyGuarantee guarantee;
    NoisePlace place = NoisePlace::local;
    double clip = 0;    ///< norm of a record, at most
    int releases = 1;   ///< sums of the job, calibrated together
    double sigma = 0;   ///< standard deviation of the noise that the guarantee needs in every number of a sum
    double own = 0;     ///< standard deviation of what one client adds; 0: none
    double in_sum = 0;  ///< standard deviation of all noise in a sum of all clients
    double rho = 0;     ///< zero-concentrated privacy that the job spends
};

/// `clients` take part, of which at least `survivors` stay and `colluders` may tell the coordinator their part. Throws
/// InputError for a guarantee or clip that means nothing, and when survivors do not exceed colluders.
NoisePlan plan_noise(PrivacyGuarantee guarantee, double clip, int releases, NoisePlace place, std::int64_t clients,
                     std::int64_t survivors, std::int64_t colluders = 0);

/// The most that the noise is expected to cost, in RSE, from public quantities alone, if all records have the clip's
/// norm: twice R1 times the spectral norm of the noise (2 sigma sqrt(P) for a Gram matrix, sigma (sqrt(P) +
/// sqrt(width)) for a block), over the energy of N such records. At most 1. Records of a part f of that norm cost 1 /
/// f^2 times as much; noise_cost() knows what they have.
double expected_loss(const NoisePlan& plan, std::int64_t patients, std::int64_t features, std::int64_t rank,
                     std::optional<std::int64_t> width);

/// Patients with whom the loss that is expected is no more than `loss`; from public quantities alone, as above.
double patients_for_loss(const NoisePlan& plan, double loss, std::int64_t features, std::int64_t rank,
                         std::optional<std::int64_t> width);

/// What a job has shown of the records' energy: the sum of so many numbers, each with the noise of the sums.
struct NoisyEnergy {
    double squares = 0;
    std::int64_t numbers = 0;
};
/// The most that the noise is expected to have cost, in RSE, whatever norms the records have: as above, over the energy
/// that they have at least, four standard deviations of its noise below what was seen. 1 where that is nothing: then
/// the noise may have cost everything. It follows from what was released, and releases nothing more.
double noise_cost(const NoisePlan& plan, const NoisyEnergy& seen, std::int64_t features, std::int64_t rank,
                  std::optional<std::int64_t> width);

/// Random bits from ChaCha20 under a 256-bit key, which must be secret and random: who can guess the key takes the
/// noise away, and nothing is private.
class NoiseSource {
  public:
    explicit NoiseSource(Secret key);
    /// Noise that repeats, for tests. It protects nobody, and what it is added to must not be called private.
    static NoiseSource repeatable(std::uint64_t seed, std::uint64_t stream);
    /// 64 random bits.
    std::uint64_t word();

  private:
    Secret key_;
    std::uint64_t block_ = 0;
    std::array<std::uint8_t, 512> bytes_{};
    std::size_t used_ = 512;
};

/// Beyond so many standard deviations no noise lies, but for a probability below 1e-17.
inline constexpr double largest_noise = 9;

/// Noise of standard deviation `sigma` for a sum of `numbers` fixed-point numbers, as integers of the step: the
/// variance in squared steps, rounded up, and made larger by what rounding to the step adds to what one record of norm
/// `clip` changes. Throws InputError where the step is too fine or too coarse for the noise.
std::uint64_t noise_variance(double sigma, double step, double clip, std::int64_t numbers);

/// Adds discrete Gaussian noise of this variance, in steps, to numbers of a ring.
void add_noise(std::span<std::uint64_t> values, const Ring& ring, std::uint64_t variance, NoiseSource& source);

}  // namespace couplet
