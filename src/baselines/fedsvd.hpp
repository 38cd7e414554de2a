#pragma once

#include "couplet/baselines/run_method.hpp"
#include "masks.hpp"

namespace couplet {

/// What client k uploads: P_k X_k Q with Q over the features and P_k, which only the client has, over its patients.
Matrix<double> masked_upload(MatrixView<const double> x, const OrthogonalMask& features, std::uint64_t seed,
                             Index client);

/// Masked stacking (Chai et al., KDD 2022). A random orthogonal Q over the features is known to all clients and not to
/// the server; P_k over the patients to client k alone. Client k uploads P_k X_k Q; the singular values and right
/// vectors of the stack are those of the data, masked by Q; every client takes the mask off and fits its patients.
/// Masks are block-diagonal. Takes rank, eps and eps2 as reference_centralized() does and gives its result to rounding
/// where the feature bonds are not cut.
SimulationResult run_fedsvd(const ClientSource& source, SimulationOptions options);

}  // namespace couplet
