#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace couplet::cli {

/// Text for people is laid out for this many columns.
inline constexpr std::size_t line_width = 80;

/// Columns that UTF-8 text takes: its code points.
std::size_t display_width(std::string_view text);

/// Breaks text at spaces so that no line exceeds line_width. Every line starts with `indent` spaces; the first does
/// not when it continues a line that is already that long. Line ends in the text stay. No line end after the last.
std::string wrapped(std::string_view text, std::size_t indent, bool continues = false);

/// "name   value" lines with the values in one column, long ones wrapped below themselves.
std::string fields(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t indent = 0);

/// Columns as wide as their widest cell; the first is left-aligned, numbers after it are right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace couplet::cli
