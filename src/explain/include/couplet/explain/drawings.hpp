#pragma once

#include <string>

#include "couplet/explain/components.hpp"

namespace couplet {

/// Drawings of one component as inline SVG; colours come from the page's style sheet (classes `more` and `less`).

/// The strongest indices of two named modes against each other: deeper colour, larger weight.
std::string draw_heat_map(const Explanation& explanation, Index component);
/// The strongest indices of a named mode as bars to the left and right of zero.
std::string draw_bars(const Explanation& explanation, Index component, Index mode);
/// A mode whose indices are points along a line.
std::string draw_curve(const Explanation& explanation, Index component, Index mode);
/// Shares of the variation at each site.
std::string draw_sites(const Explanation& explanation, Index component);

/// Text cut to so many characters, with an ellipsis where something is missing.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace couplet
