#pragma once

#include <string>
#include <vector>

#include "couplet/experiments/result.hpp"

namespace couplet {

/// Says that a drawing was made here; replacing any other needs --force.
inline constexpr const char* slide_marker = "<!-- couplet reproduce -->";

/// The answers and who wins on one slide, 1280 x 720, as an SVG file of its own that needs no style sheet. Empty when
/// there are no answers to show.
std::string render_slide(const std::vector<ExperimentResult>& results);

/// The marks of a summary figure: Couplet, the CTT of Zhang et al., all data in one place, and of each category the
/// best of the methods that train. Rows of other methods are left out.
std::vector<Row> main_rows(const std::vector<Row>& rows);

}  // namespace couplet
