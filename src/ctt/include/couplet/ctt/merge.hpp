#pragma once

#include <span>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {

/// What a merge may cut, in absolute squares.
struct MergeCuts {
    double budget2 = 0;               ///< for all bonds together; the R1 bond takes what the feature bonds leave
    double bond_tail2 = 0;            ///< for each of the N - 2 feature bonds
    Index max_rank = unlimited_rank;  ///< of R1
    double noise = 0;                 ///< of S, a spectral norm: directions of R1 below it are no features
};

struct Merged {
    Features features;
    double discarded2 = 0;  ///< ||S||^2 minus what the features keep of it
};

/// Best common row space of S = [D_1; ...; D_K] as right-orthonormal feature cores: R1 singular directions of S,
/// weighted by importance. All blocks must have the same feature modes.
///
/// Two routes; merge_blocks takes the cheaper and never multiplies out more than 2^26 numbers. Where no feature bond is
/// cut they agree up to rounding; otherwise the dense one, which cuts R1 first, finds smaller ranks for the same
/// limits.
/// - merge_dense multiplies S out, rho x P, and decomposes it: about rho P (rho + 2 R) flops, rho = sum of R1_k.
/// - merge_trains sweeps n = N..2 over the stacked cores: sum_n [2 sum_k R^k_{n-1} I_n R^k_n r_n + O(rho m min(rho,
/// m))],
///   m = I_n r_n. Nothing of size P is formed. Blocks must be left-orthonormal; a block that is not is made so first.
Merged merge_blocks(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts);
Merged merge_dense(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts);
Merged merge_trains(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts);

/// Rows of all blocks, cut at the R1 bond alone (budget2, max_rank): the state that takes one more client later.
struct CompressedRows {
    FeatureBlock block;
    double discarded2 = 0;
};
CompressedRows compress_rows(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts);

/// The block as a train with left-orthonormal cores and the norm in the last.
TensorTrain<double> block_train(const FeatureBlock& block);

}  // namespace couplet
