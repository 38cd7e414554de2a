#pragma once

#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/shield/masked_sums.hpp"

namespace couplet {

/// The sums that features are centred and scaled by, of which nobody sees a client's own.
struct MaskedCentring {
    FeatureSums sums;
    SumTraffic traffic;
};

/// Adds up the sums of all clients' patients under secure aggregation, in the job's network: sums, then squares about
/// the means that they give. Before either, counts of clients by where their largest and smallest magnitudes lie (in
/// classes of 16 doublings) say in how many words a number travels, so that features in units however different all
/// keep their digits. Throws InputError for fewer clients than the demands allow.
MaskedCentring masked_feature_sums(const std::vector<TensorView<const double>>& clients, const CentringOptions& options,
                                   const Job& job, const SumDemands& demands);

}  // namespace couplet
