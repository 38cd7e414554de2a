#pragma once

#include <optional>
#include <vector>

#include "couplet/linalg/svd.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Cores of a group of modes at one end of a tensor, and the orthonormal map onto their remaining bond.
struct PeeledEnd {
    /// In mode order. A right end's cores are right-orthonormal, a left end's left-orthonormal.
    std::vector<Tensor<double>> cores;
    /// (own size) x rank, orthonormal columns; nothing when the group was kept whole.
    std::optional<Matrix<double>> map;
    Index rank = 1;
    /// Discarded squares of each cut, from the outside in.
    std::vector<double> tails2;
    bool rank_limited = false;
    bool trusted = true;                 ///< every cut was within the accuracy of the Gram matrix
    SvdMethod method = SvdMethod::gram;  ///< the engine that did it
};

/// Splits the end of a tensor into cores, given the Gram matrix of that end alone.
///
/// `modes` are the sizes of the group in mode order, `bond` the rank that closes it on the outside (R_{n-1}
/// before a left group, R_n after a right group). g has order bond * prod(modes), its index running over
/// (bond, modes) at a left end and (modes, bond) at a right one. Cut j, counted from the outside in, obeys cuts[j].
/// Partial traces of g are the Gram matrices of the inner bonds, so the data is not needed again. Each entry of g is a
/// sum of `terms` products, which tells how far it can be trusted.
PeeledEnd peel_gram(Matrix<double> g, Side side, const std::vector<Index>& modes, Index bond,
                    const std::vector<SvdOptions>& cuts, Index terms);

/// Same from a factor s (k x order) with s^T s = g: accurate to rounding.
PeeledEnd peel_factor(Matrix<double> s, Side side, const std::vector<Index>& modes, Index bond,
                      const std::vector<SvdOptions>& cuts);

/// Same from the basis of a group of one mode, which somebody has found already.
PeeledEnd peel_basis(const Basis& basis, Side side, Index size, Index bond);

/// The group as it is: cores that are identities, no map.
PeeledEnd peel_nothing(Side side, const std::vector<Index>& modes, Index bond);

}  // namespace couplet
