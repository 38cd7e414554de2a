#pragma once

#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What one client tells for centring: sums over its patients, feature by feature. Those of several clients add up, so
/// that every way to add (a coordinator, a tree, secure aggregation) can carry them.
struct FeatureSums {
    Index patients = 0;
    std::vector<double> sum = {};     ///< of each of the I2 ... IN features
    std::vector<double> square = {};  ///< of the squares

    void add(const FeatureSums& other);
};
FeatureSums feature_sums(const TensorView<const double>& x);

/// How data is moved and scaled before a job, feature by feature: (x - mean) / scale.
struct Centring {
    std::vector<double> mean = {};   ///< empty: not moved
    std::vector<double> scale = {};  ///< empty: not scaled; never zero

    bool empty() const noexcept { return mean.empty() && scale.empty(); }
    friend bool operator==(const Centring&, const Centring&) = default;
};

/// Means, and standard deviations (around zero where nothing is moved); features without any spread keep their scale.
Centring centring_of(const FeatureSums& sums, bool centre, bool scale);

/// Patients of any number, features as in the centring. NaN stays NaN. Throws InputError, naming `where`, when the
/// features are others.
Tensor<double> centred(const TensorView<const double>& x, const Centring& centring, const std::string& where);
/// The way back.
Tensor<double> restored(const TensorView<const double>& x, const Centring& centring, const std::string& where);

}  // namespace couplet
