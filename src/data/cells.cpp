#include "couplet/data/cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

// An empty cell is no way out: no public file that is read as numbers has one.
constexpr const char* whole_file = "Use the file as it was published: it has a number in every row here.";

/// NaN for what is no number, which is then refused with all that the caller expects of it.
double number_in(std::string_view text) noexcept {
    double value = 0;
    return parse_number(text, value) == NumberText::number ? value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void require_fields(const CsvReader& csv, std::span<const std::string_view> row, Index count,
                    const std::string& meaning) {
    if (static_cast<Index>(row.size()) == count) return;
    throw InputError({csv.name(), fmt::format("line {} has {} columns", csv.line_number(), row.size()),
                      fmt::format("{}: {}", count, meaning), "Use the file as it was published."});
}

void refuse_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column, const std::string& expected,
                 const std::string& remedy) {
    const auto position = static_cast<std::size_t>(column);
    const std::string label = csv.header().empty() ? "" : fmt::format(" ({})", shown(csv.header()[position]));
    throw InputError(
        {csv.name(),
         fmt::format("line {}, column {}{} holds {}", csv.line_number(), column + 1, label, shown(row[position])),
         expected, remedy});
}

double finite_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column) {
    const double value = number_in(row[static_cast<std::size_t>(column)]);
    if (!std::isfinite(value)) refuse_cell(csv, row, column, "a finite number", whole_file);
    return value;
}

Index whole_cell(const CsvReader& csv, std::span<const std::string_view> row, Index column, Index low, Index high) {
    const double value = number_in(row[static_cast<std::size_t>(column)]);
    // Written so that NaN fails.
    const bool inside = value >= static_cast<double>(low) && value <= static_cast<double>(high);
    if (!inside || value != std::floor(value)) {
        refuse_cell(csv, row, column, fmt::format("a whole number from {} to {}", low, high),
                    std::isfinite(value) ? "" : whole_file);
    }
    return static_cast<Index>(value);
}

}  // namespace couplet
