#pragma once

#include <string>
#include <string_view>

namespace couplet {

/// The text as HTML, SVG or XML shows it, inside an element or a quoted attribute.
std::string escape_markup(std::string_view text);

}  // namespace couplet
