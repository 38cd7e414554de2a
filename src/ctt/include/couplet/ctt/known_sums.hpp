#pragma once

#include <vector>

#include "couplet/ctt/centring.hpp"

namespace couplet {

/// What one client tells for centring data with missing entries (NaN): of every feature how many patients' entries are
/// known, their sum, and the sum of their squares about their mean.
struct KnownSums {
    std::vector<double> count = {};
    std::vector<double> sum = {};
    std::vector<double> square = {};

    /// Those of other patients too, feature by feature.
    void add(const KnownSums& other);
};
KnownSums known_sums(const TensorView<const double>& x);

/// Means and standard deviations over what is known (about zero where nothing is moved); a feature of which nobody
/// knows anything, or that has no spread, is neither moved nor scaled.
Centring centring_of(const KnownSums& sums, const CentringOptions& options);

/// The feature that has the largest part of the variation about the features' means.
struct LargestPart {
    Index feature = 0;  ///< row-major among I2 x ... x IN
    double part = 0;    ///< of the sum of squares of all; 0 where nothing varies
};
LargestPart largest_part(const KnownSums& sums);

}  // namespace couplet
