#pragma once

#include <string>

#include "couplet/explain/export.hpp"

namespace couplet {

/// Says that a page was made here.
inline constexpr const char* explain_marker = "<meta name=\"generator\" content=\"couplet explain\">";

/// One self-contained page for readers who do not know the method: no script, nothing from a network; fits paper, a
/// phone and a dark screen. `data` is the name of the .json and .csv beside it without ending; empty: there are none.
std::string render_explanation(const Explanation& explanation, const Told& told, const std::string& data);

}  // namespace couplet
