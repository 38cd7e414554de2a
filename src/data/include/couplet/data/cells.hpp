#pragma once

#include <span>
#include <string>
#include <string_view>

#include "couplet/io/csv.hpp"

namespace couplet {

/// Throws InputError unless the row has `count` fields; `meaning` says which ("140 points and the label").
void require_fields(const CsvReader& csv, std::span<const std::string_view> row, Index count,
                    const std::string& meaning);

/// A field as a finite number; throws InputError that names line and column, for an empty field also.
double finite_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column);

/// A field as a whole number from `low` to `high`, also when it is written "3.0"; throws InputError that names line
/// and column.
Index whole_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column, Index low, Index high);

/// Throws InputError that names the cell of this column in the row last read, what it holds and what was `expected`.
[[noreturn]] void refuse_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column,
                              const std::string& expected, const std::string& remedy = "");

}  // namespace couplet
