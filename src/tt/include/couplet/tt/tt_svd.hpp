#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/source.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

inline constexpr Index unlimited_rank = std::numeric_limits<Index>::max();

/// What may be cut at one bond: a tail of at most eps ||X||, and never more than max_rank.
struct BondLimit {
    double eps = 0;
    Index max_rank = unlimited_rank;
};

struct TtSvdOptions {
    /// Relative error to stay within, 0 <= eps < 1: ||X - train|| <= eps ||X||, unless max_rank cuts first.
    double eps = 0;
    /// No rank exceeds this; at least 1.
    Index max_rank = unlimited_rank;
    /// When not empty, one limit for each of the N - 1 bonds, instead of eps and max_rank.
    std::vector<BondLimit> bonds = {};
    SvdMethod method = SvdMethod::automatic;
    std::uint64_t seed = 0;
    ProgressSink progress = {};
    /// Called when the decomposition needs nearly as much memory as the tensor, for callers that can let go of parts of
    /// it (a mapped file). May be empty.
    ConsumedSink consumed = {};
};

template <Real T>
struct TtSvdResult {
    TensorTrain<T> train;
    /// ||X - train|| / ||X|| or a little more: the discarded tails, and what rounding may have added when they were
    /// computed and the cores stored (0 for a zero tensor and where nothing was cut).
    double rel_error = 0;
    /// Share of each bond in rel_error^2; modes of size 1 count for the bond before them.
    std::vector<double> bond_errors2;
    /// ||X||.
    double norm = 0;
    /// True when max_rank cut below the rank that eps asked for.
    bool rank_limited = false;
    /// Engine of the step that saw most data.
    SvdMethod method = SvdMethod::automatic;
};

/// TT-SVD (Oseledets 2011) of a dense tensor: at each of the N-1 bonds the smallest rank whose discarded tail
/// is at most eps / sqrt(N-1) ||X||; modes of size 1 have no bond to cut and do not count in N. Peels modes off
/// whichever end costs less; cores on the left of the last remaining one are left-orthonormal, those on its right
/// right-orthonormal. Order >= 1; throws InputError for an empty tensor, a bad option, the first NaN or infinity, and a
/// norm that is no number of type T. Any other magnitude will do: where squares are not safe, X is scaled by a power of
/// two.
///
/// Cost: two reads of X; 2 m |X| flops for the Gram of the first end (m its size) and 2 r |X| for the
/// projection. Memory beyond X: about r/m of it. Bit-identical for every thread count.
template <Real T>
TtSvdResult<T> tt_svd(TensorView<const T> x, const TtSvdOptions& options);

/// Same, for a tensor whose memory may be overwritten: needs next to no memory beyond it.
template <Real T>
TtSvdResult<T> tt_svd(Tensor<T>&& x, const TtSvdOptions& options);

/// Same, for a tensor of this shape wherever it is. Nothing is computed in double that the source holds as float: an
/// eps below what float cores can hold gets as near as they allow, and rel_error says how near.
template <Real T>
TtSvdResult<T> tt_svd(std::unique_ptr<TensorSource<T>> x, const Shape& shape, const TtSvdOptions& options);

}  // namespace couplet
