#pragma once

#include <cstdint>
#include <vector>

#include "couplet/models/factors.hpp"

namespace couplet {

/// How alike two fits of one model are.
struct Agreement {
    /// Of each component of the first with its partner, 0 to 1. CP and nncp: Tucker's congruence, the product over the
    /// feature modes of the cosines, partners in order of agreement. PCA and Tucker, whose components turn freely
    /// within what they span: the share of the space that is common, one number.
    std::vector<double> congruence = {};
    double chance = 0;  ///< what fits of shuffled features would reach
    /// (congruence - chance) / (1 - chance), of the mean over components.
    double corrected() const;
    /// Of the component that agrees least.
    double corrected_least() const;
};

/// `shuffles` times the entries of the second's factors are shuffled within their modes to see what chance gives.
Agreement factor_agreement(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b,
                           std::uint64_t seed, Index shuffles = 20);

/// Of two subspaces of the feature modes: the share of the one that the other spans, in each mode; the least of them.
Agreement space_agreement(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b);
/// Of two models' rows in a common basis of features (see captured()); chance is that of random spaces of P directions.
Agreement row_agreement(const TensorTrain<double>& a, const TensorTrain<double>& b);

/// What suits the model.
Agreement agreement(const Factors& a, const Factors& b, std::uint64_t seed);
/// Over the starts of one fit, each with the best; empty with a single start.
std::vector<Agreement> start_agreements(const Factors& factors, std::uint64_t seed);

}  // namespace couplet
