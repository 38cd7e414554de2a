#pragma once

#include <string_view>

namespace couplet {

/// What a piece of text holds as a number.
enum class NumberText { number, not_a_number, out_of_range };

/// Reads the whole of `text` as a decimal number in the C locale; spaces around it and a leading '+' are
/// allowed, "nan" and "inf" are numbers, empty text is NaN. A magnitude below float64's smallest becomes 0,
/// one above its largest is out_of_range.
NumberText parse_number(std::string_view text, double& value) noexcept;

}  // namespace couplet
