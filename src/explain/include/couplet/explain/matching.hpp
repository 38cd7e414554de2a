#pragma once

#include <span>
#include <vector>

#include "couplet/explain/components.hpp"
#include "couplet/sim/source.hpp"

namespace couplet {

/// Which row of `b` stands for each row of `a`, such that the agreements |<a_r, b_s>| add up to the most (Hungarian
/// method); -1 where b has fewer. Both have orthonormal rows. Cost: R^3, and R^2 P for the products.
struct Matching {
    std::vector<Index> partner = {};
    std::vector<double> cosine = {};  ///< signed; 0 without a partner
};
Matching match_rows(const Matrix<double>& a, const Matrix<double>& b);

/// How well components come back when every site draws as many of its own patients again, with replacement, and the
/// federation is run anew: fills in `stability` (mean agreement over the resamples) and `least_stability`, both beyond
/// what as many random components of as many features agree: 0 is no more than chance, 1 is the same. Patients
/// stay at their sites: only what the federation sends anyway is sent, `resamples` times. The features of `source` are
/// put in the order of the explanation, and the job is that of the result. Throws InputError where features or sites
/// are others, where no site has two patients to draw from, and for results of other methods.
struct StabilityOptions {
    Index resamples = 20;
    std::uint64_t seed = 0;
};
void add_stability(Explanation& explanation, const ClientSource& source, const StabilityOptions& options);

/// One component of a newer result beside that of an older one.
struct Change {
    Index before = -1;  ///< number of the component, from 0; -1: it is new
    Index after = -1;   ///< -1: it is gone
    double agreement = 0;
    double share_before = 0;
    double share_after = 0;
    std::vector<NamedEntry> gained = {};  ///< entries whose weight grew most, weight is the difference
    std::vector<NamedEntry> lost = {};
};

/// What changed from one result to another.
struct Drift {
    double overlap = 0;                ///< part of the newer features that the older ones span, 0 to 1
    std::vector<Change> changes = {};  ///< kept ones in the order of the newer shares, then new ones, then those gone
};

/// Components that agree by less than this are different ones.
inline constexpr double least_agreement = 0.5;

/// Matches components by what they are made of. The features of `after` are put in the order of `before`. Throws
/// InputError that names the labels where the results are of different vocabularies.
Drift compare_results(const Explanation& before, const Explanation& after);

}  // namespace couplet
