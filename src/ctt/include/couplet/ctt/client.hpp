#pragma once

#include <optional>

#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/ctt/released.hpp"

namespace couplet {

/// What a client sends in the first round of stack and average.
struct Upload {
    Released<FeatureBlock> block;
    Index rows = 0;        ///< I1
    double norm2 = 0;      ///< ||X_k||^2
    double svd_tail2 = 0;  ///< a_k^2, cut at the R1 bond, rows that quantisation made zero included
    double tt_tail2 = 0;   ///< t_k^2, cut at the feature bonds and lost to quantisation, as the receiver decodes it
};

/// Relative errors a client may make, as parts of its own norm.
struct ClientLimits {
    double svd_eps = 0;
    double tt_eps = 0;  ///< over all feature bonds together; of a coded message, for all that coding loses
    Index max_rank = 0;
    std::optional<double> norm2 = {};  ///< ||X_k||^2 where the caller has it
    Precision precision = Precision::f64;
    double total_eps = 0;                  ///< automatic: of both together, where the rank does not cut first
    std::optional<Index> code_bytes = {};  ///< automatic: of the coded block, instead of errors
};

/// Limits of one client under a job: the certified split of section 3, or eps1 and the rank as in the paper. `hops` is
/// how often rows are coded on their way: once in a star, at every node in a tree, where each may lose its part only.
ClientLimits client_limits(const Job& job, const Hello& hello, const Start& start, Index hops = 1);

/// The stack's client step: X_k ~ U_k D_k at the client's own rank, D_k as a train or dense, coded as the limits say.
/// U_k is not kept: the refit replaces it. Cost: one TT-SVD of X_k. An orthogonal mixture of the rows is sent also
/// where nothing is cut, never the rows. There is nothing to mix in a client of one patient: what it sends is that
/// patient's row, up to its sign and eps.
Upload compress_client(TensorView<const double> x, const ClientLimits& limits);

/// The same with D_k as it is, for a client that merges it itself: cut at the R1 bond alone, nothing coded.
Upload uncoded_client(TensorView<const double> x, const ClientLimits& limits);

/// The first step of the printed method (Alg. 2 and 3): X_k ~ U_k D_k with exactly `rank` singular vectors.
struct PersonalSplit {
    Matrix<double> personal;  ///< U_k, stays here
    Matrix<double> weighted;  ///< D_k = U_k^T X_k, dense
};
PersonalSplit split_personal(TensorView<const double> x, Index rank);

/// All that a client of the printed star does before its message (Alg. 2): the split, then TT-SVD of D_k with
/// eps1 / sqrt(N-1) ||X_k|| at every bond.
struct AverageStep : PersonalSplit {
    Upload upload;
};
AverageStep average_client(TensorView<const double> x, Index rank, double eps1);

/// D_k of the printed decentralized method (Alg. 3), which travels dense: no train of it is ever made.
Released<std::vector<double>> release_state(const PersonalSplit& split);

/// X^T (X Q), the client's part of a sum; P x l numbers. q empty: the Gram matrix X^T X, upper triangle by rows.
Released<std::vector<double>> sketch_sum(TensorView<const double> x, MatrixView<const double> q);
/// Upper triangle of (X F)^T (X F).
Released<std::vector<double>> projected_gram(TensorView<const double> x, MatrixView<const double> f);

}  // namespace couplet
