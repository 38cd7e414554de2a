#pragma once

#include <vector>

#include "couplet/ctt/blocks.hpp"

namespace couplet {

/// For each feature mode the variance of each of its slices: the R_{n-1} R_n numbers that core n has for one index.
/// Cores are not unique: the norm of a train may be in any of them, and a bond may be rotated. So every core is taken
/// with the norm in it and with the singular vectors of the train as bases of both its bonds, directions of the
/// personal mode weighted by their importance. Federations that found the same features then have the same variances.
/// Population variance.
std::vector<std::vector<double>> feature_variances(const Features& features);

/// An index of a feature mode, both counted from 0.
struct FeatureIndex {
    Index mode = 0;
    Index index = 0;
    friend auto operator<=>(const FeatureIndex&, const FeatureIndex&) = default;
};

/// The `count` indices of largest variance over all modes, largest first, ties in order of mode and index. All of them
/// when there are fewer. Throws InputError unless count >= 1.
std::vector<FeatureIndex> most_variable(const std::vector<std::vector<double>>& variances, Index count);

/// People by what they have in those indices: row p holds the entries of x(p, ...) that lie in at least one of the
/// slices, each once, in their order.
Matrix<double> restrict_to(TensorView<const double> x, const std::vector<FeatureIndex>& kept);

}  // namespace couplet
