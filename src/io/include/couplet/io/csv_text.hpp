#pragma once

#include <string>
#include <string_view>

namespace couplet {

/// A field of a csv file: quoted where it must be, and otherwise as it is.
std::string csv_field(std::string_view text);

/// The same for text that others wrote and people read in a spreadsheet: control characters are question marks, and a
/// quote stands in front of what the spreadsheet would compute (=, +, -, @), numbers excepted.
std::string safe_csv_field(std::string_view text);

}  // namespace couplet
