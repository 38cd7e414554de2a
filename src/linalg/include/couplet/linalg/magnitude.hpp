#pragma once

#include <span>
#include <string>

#include "couplet/tensor/matrix.hpp"

/// Squares leave the range of double long before its numbers do, and a Gram matrix is squared once more. Whoever
/// squares multiplies by a power of two first, which rounds nothing, and keeps the exponent. All modules do it with
/// what is here.
namespace couplet {

/// Squared norms between these may be squared again: Gram matrices, their eigenvalues and tails neither overflow nor
/// vanish.
inline constexpr double least_safe_square = 1e-150;
inline constexpr double most_safe_square = 1e150;

inline bool squares_are_safe(double norm2) noexcept { return norm2 >= least_safe_square && norm2 <= most_safe_square; }

/// Exponent of a magnitude: 2^-exponent times it lies in [1, 2). 0 for zero and for what is not finite.
int magnitude_exponent(double largest) noexcept;

/// to = 2^exponent from, element by element; `to` may be `from`. Exact where the result is a normal number of type To.
template <Real To, Real From>
void scale_by_power(const From* from, Index size, int exponent, To* to);

/// ||A||^2 = squares 4^exponent.
struct ScaledNorm {
    double squares = 0;  ///< safe, 0 for zeros, NaN where an element is not finite
    int exponent = 0;

    /// ||A||; `where` is named by the InputError for a norm beyond the largest double.
    double norm(const std::string& where) const;
};

/// The norm of anything. Cost: one read where the squares are safe as they are, three otherwise.
template <Real T>
ScaledNorm scaled_norm(MatrixView<const T> a);

/// Where the squares of the values are not safe, multiplies them by the power of two that brings the largest to [1, 2).
/// Returns e with old = 2^e new; 0 when nothing was done. The values must be finite.
int make_squares_safe(std::span<double> values);

/// value 2^exponent. Throws InputError, naming `where` and `what` ("a norm"), when that is no number: beyond the
/// largest double, or not zero and below the smallest.
double with_exponent(double value, int exponent, const std::string& where, const std::string& what);

}  // namespace couplet
