#pragma once

#include <span>
#include <string>

namespace couplet::cli {

/// Bars of non-negative values on a logarithmic scale, relative to the largest: a few lines with the powers of ten at
/// the left and the positions (counted from 1) below. With more values than columns each bar is the largest of its
/// share. Block characters when `utf8`, '#' otherwise. Every line ends in a line end; no values or only zeros give "".
std::string log_plot(std::span<const double> values, bool utf8);

}  // namespace couplet::cli
