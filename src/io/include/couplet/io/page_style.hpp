#pragma once

#include <string>

namespace couplet {

/// What all pages of the product look like: type, tables that scroll on a phone, figures, a dark scheme where the
/// reader has one, and paper. Contrast of text is at least 4.5 to 1 in both schemes.
std::string page_style_sheet();

}  // namespace couplet
