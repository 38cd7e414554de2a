#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couplet/ctt/released.hpp"
#include "couplet/ctt/weighting.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What is done to each feature before a job: its mean over the federation taken out, its deviation made 1.
struct CentringOptions {
    bool centre = false;
    bool scale = false;
    /// Instead of both: every mode is centred by its labels' prevalences and weighted, see weighting.hpp.
    Weight weight = Weight::none;
    std::vector<Index> any_at = {};  ///< with a weight: find_any() of the job's schema

    bool any() const noexcept { return centre || scale || weight != Weight::none; }
    /// Whether the sum of every feature is needed.
    bool sums() const noexcept { return centre || weight != Weight::none; }
    friend bool operator==(const CentringOptions&, const CentringOptions&) = default;
};

/// What one client tells for centring: sums over its patients, feature by feature.
struct FeatureSums {
    Index patients = 0;
    std::vector<double> sum = {};  ///< of each of the I2 ... IN features; empty: nothing is moved
    /// Of the squares of what is left without the mean, or of the numbers themselves where nothing is moved; empty:
    /// nothing is scaled. About the mean, because the variance of a feature that varies little beside it would be lost
    /// in a difference of squares.
    std::vector<double> square = {};
    double resolution = 0;  ///< what a sum of squares may be wrong by, beyond rounding

    /// Those of other patients too: squares about the means of both become squares about the mean of all.
    void add(const FeatureSums& other);
};
FeatureSums feature_sums(const TensorView<const double>& x, const CentringOptions& options);
/// Of every feature the sum of (x - mean)^2; no means: of x^2.
std::vector<double> sum_squares(const TensorView<const double>& x, std::span<const double> mean);

/// How data is moved and scaled before a job: feature by feature, (x - mean) / scale, or with a weight mode by mode, by
/// the maps that the prevalences give.
struct Centring {
    std::vector<double> mean = {};   ///< empty: not moved
    std::vector<double> scale = {};  ///< empty: not scaled; never zero
    Weight weight = Weight::none;
    std::vector<Index> any_at = {};  ///< with a weight: where each mode has the label of every patient
    Index patients = 0;              ///< with a weight: whom the means are of

    bool weighted() const noexcept { return weight != Weight::none; }

    bool empty() const noexcept { return mean.empty() && scale.empty(); }
    friend bool operator==(const Centring&, const Centring&) = default;
};

/// What the rounding of the sums of a few hundred clients leaves of a constant with this mean.
double mean_rounding(double mean) noexcept;

/// Means, and standard deviations (around zero where nothing is moved); features without any spread keep their scale.
Centring centring_of(const FeatureSums& sums, const CentringOptions& options);

/// Patients of any number, features as in the centring. What is no further from a mean than its rounding becomes zero.
/// NaN stays NaN. Throws InputError, naming `where`, when the
/// features are others.
Tensor<double> centred(const TensorView<const double>& x, const Centring& centring, const std::string& where);
/// The way back.
Tensor<double> restored(const TensorView<const double>& x, const Centring& centring, const std::string& where);

// ---- as messages: the sums up, the centring down, and the squared norm of what came of the data up

/// The number of patients, then of every feature the sum (to centre) and the sum of squares (to scale).
Released<std::vector<double>> release_sums(const FeatureSums& sums);
/// Numbers in them.
Index sums_length(Index features, const CentringOptions& options);

/// What a client said of its data when it joined.
struct CentredParty {
    Index rows = 0;
    Index features = 0;
    std::optional<double> norm2 = {};  ///< of the data as it was then; nothing: it said that of scaled data
};
/// Sums that have arrived. Throws InputError, naming `who`, for numbers that no
/// data of this party can have: whoever sends them would spoil the means of all.
FeatureSums arrived_sums(std::span<const double> numbers, const CentringOptions& options, const CentredParty& party,
                         const std::string& who);

/// A client's ||X||^2 after centring.
Released<std::vector<double>> release_norm2(double norm2);

/// What centring adds to a client's messages: request and sums, centring and norm.
struct CentringTraffic {
    double numbers_up = 0;
    double numbers_down = 0;
    double bytes_up = 0;
    double bytes_down = 0;
};
inline constexpr Index centring_rounds = 2;
CentringTraffic centring_traffic(Index features, const CentringOptions& options);

}  // namespace couplet
