#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "couplet/linalg/products.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Engines of the truncated SVD.
/// - gram: eigenvectors of the short side's Gram matrix. Fastest; blind below 1.5e-8 of the largest singular
/// value.
/// - qr: R factor without Q, then its SVD. Accurate to rounding; about twice the flops of gram.
/// - random: seeded block Krylov range finder, its error measured; falls back to gram or qr when it misses.
/// - automatic: picks by shape, wanted rank and wanted accuracy.
enum class SvdMethod { automatic, gram, qr, random };

/// "auto", "gram", "qr", "random".
std::string_view to_string(SvdMethod method) noexcept;

struct SvdOptions {
    /// Keep the smallest rank whose discarded tail sqrt(sum sigma_i^2, i > r) is at most this...
    double max_tail = 0;
    /// ...but never more than this many. At least 1.
    Index max_rank = std::numeric_limits<Index>::max();
    SvdMethod method = SvdMethod::automatic;
    std::uint64_t seed = 0;
    /// ||A||^2 where the caller knows it, and that squares are safe (squares_are_safe): one read less.
    std::optional<double> norm2 = {};
};

/// How much of a space a basis spans. whole: nothing was cut, so that nothing was decomposed either; the vectors are
/// the identity, and there are no singular values.
enum class Extent { part, whole };

/// Orthonormal basis of the dominant column space (Side::left, vectors of length rows) or row space
/// (Side::right, vectors of length cols) of a matrix.
struct Basis {
    Matrix<double> vectors;              ///< length x rank, orthonormal columns, sign rule applied
    std::vector<double> sigma;           ///< singular values kept, descending; none of a whole space
    double tail2 = 0;                    ///< sum of the discarded sigma^2, and what rounding may hide of it
    bool rank_limited = false;           ///< max_rank cut below what max_tail asked for
    SvdMethod method = SvdMethod::gram;  ///< the engine that did it
    Extent extent = Extent::part;
};

/// Basis of the best rank-r approximation of A. The rank is at least 1, also for a zero matrix. Any magnitude will do:
/// where squares are not safe a scaled copy is decomposed. Throws InputError when A is empty, and when tail2 would be
/// no number; A must be finite.
template <Real T>
Basis dominant_basis(MatrixView<const T> a, Side side, const SvdOptions& options);

/// Relative tail below which no Gram matrix can be trusted: its eigenvalues carry errors of about 1e-16 of the trace,
/// and the certificate is off by 3% at 1e-7 already.
inline constexpr double gram_limit = 1e-6;

/// What rounding may do to a sum of eigenvalues of a Gram matrix of order n whose entries are sums of `terms` products,
/// relative to its trace: u (32 + n + 4 sqrt(terms)), u the unit roundoff. Sums round like the root of their length
/// (Higham and Mary 2019), the eigenvalues of order n by at most about u each.
double gram_rounding(Index n, Index terms) noexcept;

/// Relative tail below which a Gram matrix of this order and length cannot be trusted: at least gram_limit, and no less
/// than four times what its rounding may hide.
double gram_floor(Index n, Index terms) noexcept;

/// The gram engine's second half: basis from the Gram matrix of the wanted side (A^T A for right), each of its entries
/// a sum of `terms` products. `options.method` is ignored. Computes only the eigenvectors that are kept. Trustworthy
/// when sqrt(tail2) >= gram_floor * norm or nothing is cut. max_tail is kept with a margin of gram_rounding, which is
/// part of tail2 where something is cut.
Basis basis_from_gram(MatrixView<const double> g, const SvdOptions& options, Index terms);

/// The qr engine's second half: basis of the row space of a factor S (k x length) with S^T S = A^T A, or S^T
/// S = A A^T for the left side. Accurate to rounding.
Basis basis_from_factor(MatrixView<const double> s, const SvdOptions& options);

/// Whether the Gram matrix was accurate enough for this cut: the wanted tail is one it can certify, or nothing was cut,
/// or (a cut by rank alone) the tail that remains is one it can show. `floor` is its gram_floor.
bool gram_suffices(const Basis& basis, double norm2, double max_tail, double floor) noexcept;

/// A ~ U diag(sigma) V^T.
template <Real T>
struct TruncatedSvd {
    Matrix<T> u;
    std::vector<double> sigma;
    Matrix<T> v;
    double tail2 = 0;
    bool rank_limited = false;
    SvdMethod method = SvdMethod::gram;
};

/// Truncated SVD, of any magnitude; the largest-magnitude entry of each column of U is positive (the first one on a
/// tie).
template <Real T>
TruncatedSvd<T> truncated_svd(MatrixView<const T> a, const SvdOptions& options);

/// Flips columns so that the largest-magnitude entry of each is positive, the first one on a tie.
template <Real T>
void apply_sign_rule(MatrixView<T> columns);

}  // namespace couplet
