#pragma once

#include "couplet/ctt/completion.hpp"

namespace couplet {

/// The longest step that helps where this part of all entries is seen: the inverse of the mean weight of an entry
/// (Jain, Meka and Dhillon 2010, for means = 0). No course takes a longer one.
double longest_step(double means, double seen);

/// Sums over fewer validation entries are not told to others: of one it is a patient's value, squared.
inline constexpr double least_validation = 6;

/// The sums of a filling as they may be told to others.
FillSums told_to_others(FillSums sums) noexcept;

}  // namespace couplet
