#include "couplet/io/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

/// A header has at least one name and no number; empty cells say nothing.
bool is_header(std::span<const std::string_view> row) {
    bool named = false;
    for (const std::string_view cell : row) {
        double value = 0;
        const bool text = parse_number(cell, value) == NumberText::not_a_number;
        named = named || text;
        if (!text && !cell.empty()) return false;
    }
    return named;
}

/// "systolic [mmHg]" is a label and its unit.
std::pair<std::string_view, std::string_view> split_unit(std::string_view cell) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!cell.empty() && is_blank(cell.back())) cell.remove_suffix(1);
    const std::size_t open = cell.rfind('[');
    if (open == std::string_view::npos || open == 0 || !cell.ends_with(']')) return {cell, {}};
    std::string_view label = cell.substr(0, open);
    // "x[0]" is an index, "age [years]" a unit.
    if (label.empty() || !is_blank(label.back())) return {cell, {}};
    while (!label.empty() && is_blank(label.back())) label.remove_suffix(1);
    if (label.empty()) return {cell, {}};
    return {label, cell.substr(open + 1, cell.size() - open - 2)};
}

Labels column_labels(std::span<const std::string_view> row, const std::string& where) {
    ModeLabels columns;
    for (const std::string_view cell : row) {
        if (!is_utf8(cell)) {
            if (cell.starts_with("\xFF\xFE") || cell.starts_with("\xFE\xFF")) {
                throw InputError(
                    {where, "UTF-16 text", "UTF-8 text", "Convert it, for example with iconv -f utf-16 -t utf-8."});
            }
            throw InputError({where, "a header that is not UTF-8: " + shown(cell), "UTF-8 text",
                              "Convert it, for example with iconv -f latin1 -t utf8."});
        }
        const auto [label, unit] = split_unit(cell);
        columns.entries.emplace_back(label);
        columns.units.emplace_back(unit);
    }
    const auto unknown = [](const std::string& unit) { return unit.empty(); };
    if (std::all_of(columns.units.begin(), columns.units.end(), unknown)) columns.units.clear();
    return {ModeLabels{}, std::move(columns)};
}

/// What to do about a line that another character seems to divide; `otherwise` where it does not look so.
std::string separator_remedy(std::string_view text, std::size_t fields, std::string otherwise) {
    const bool semicolon = text.find(';') != std::string_view::npos;
    if (fields > 1 || (!semicolon && text.find('\t') == std::string_view::npos)) {
        return otherwise;
    }
    return fmt::format("The separator looks like a {}: write commas and decimal points, or let couplet table read it.",
                       semicolon ? "semicolon" : "tab");
}

/// What to do about a field that is no number: words are another mistake than a comma for a point.
std::string number_remedy(std::string_view text, std::size_t fields) {
    const bool words = std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
    return separator_remedy(text, fields,
                            words ? "Leave out columns of text, or let couplet table read them: it keeps identifiers "
                                    "apart and makes numbers of categories."
                                  : "Use a decimal point; leave missing values empty.");
}

}  // namespace

void CsvReader::split(std::string_view line, std::vector<std::string_view>& row) const {
    for (;;) {
        const std::size_t end = line.find(separator_);
        row.push_back(line.substr(0, end));
        if (end == std::string_view::npos) return;
        line.remove_prefix(end + 1);
    }
}

/// Continues the record with the next line; false at the end of the file.
bool CsvReader::append_line() {
    std::string_view line;
    if (!lines_.next(line)) return false;
    if (record_.size() + line.size() > LineLimits{}.longest_line) {
        throw InputError({name(),
                          fmt::format("a quoted field from line {} on is longer than {} bytes", row_line_,
                                      LineLimits{}.longest_line),
                          "a closing quote", "Check the quotes on that line."});
    }
    record_ += '\n';
    record_ += line;
    return true;
}

/// Unescapes in place: the write position never passes the read position.
void CsvReader::split_quoted(std::string_view line, std::vector<std::string_view>& row) {
    record_ = line;
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    std::size_t read = 0;
    std::size_t write = 0;
    for (bool more = true; more; ++read) {
        const std::size_t begin = write;
        if (read < record_.size() && record_[read] == '"') {
            for (++read;; ++read) {
                if (read >= record_.size()) {
                    if (!append_line()) {
                        throw InputError({name(),
                                          fmt::format("a quote opened in the row at line {} never closes", row_line_),
                                          "a closing quote", "Close it, or double the quotes inside a quoted field."});
                    }
                    // record_[read] is now the line end.
                }
                if (record_[read] == '"') {
                    if (read + 1 >= record_.size() || record_[read + 1] != '"') break;
                    ++read;
                }
                record_[write++] = record_[read];
            }
            ++read;
            if (read < record_.size() && record_[read] != separator_) {
                throw InputError({name(), fmt::format("text after a closing quote in the row at line {}", row_line_),
                                  "a separator or the end of the line", "Double the quotes inside a quoted field."});
            }
        } else {
            while (read < record_.size() && record_[read] != separator_) record_[write++] = record_[read++];
        }
        ranges.emplace_back(begin, write - begin);
        more = read < record_.size();
    }
    for (const auto& [begin, length] : ranges) row.push_back(std::string_view(record_).substr(begin, length));
}

bool CsvReader::next(std::vector<std::string_view>& row) {
    row.clear();
    if (empty_rows_ > 0) {
        --empty_rows_;
        ++row_line_;
        row.emplace_back();
        return true;
    }
    std::string_view line;
    if (held_) {
        held_line_ = std::move(*held_);
        held_.reset();
        line = held_line_;
    } else {
        Index skipped = 0;
        for (; lines_.next(line) && line.empty();) ++skipped;
        if (line.empty()) return false;
        if (fields_ == 1 && skipped > 0) {
            // Of a single column an empty line is a missing cell, unless nothing follows it.
            held_ = std::string(line);
            empty_rows_ = skipped;
            return next(row);
        }
    }
    row_line_ = lines_.line_number();
    if (line.find('"') == std::string_view::npos) {
        split(line, row);
    } else {
        split_quoted(line, row);
    }
    if (fields_ == 0) {
        fields_ = row.size();
        first_line_ = row_line_;
    }
    if (row.size() != fields_) {
        throw InputError(
            {name(), fmt::format("line {} has {} fields", row_line_, row.size()),
             fmt::format("{} as on line {}", fields_, first_line_),
             separator_remedy(line, fields_, "Give every row as many fields, and quote those that hold a separator.")});
    }
    return true;
}

const std::vector<std::string>& CsvReader::read_header() {
    std::vector<std::string_view> row;
    if (!next(row)) throw InputError({name(), "no rows", "a header with the names of the columns", ""});
    header_.assign(row.begin(), row.end());
    return header_;
}

Index CsvReader::column(std::string_view column_name) const {
    const auto found = std::find(header_.begin(), header_.end(), column_name);
    if (found != header_.end()) return found - header_.begin();
    constexpr std::size_t most = 40;
    std::string columns;
    for (std::size_t i = 0; i < std::min(header_.size(), most); ++i) columns += (i > 0 ? ", " : "") + shown(header_[i]);
    if (header_.size() > most) columns += ", ...";
    throw InputError({name(), "columns " + columns, "a column " + shown(column_name),
                      "Use the file as it was published, or rename the column that holds it."});
}

double CsvReader::number(std::span<const std::string_view> row, Index column) const {
    const auto position = static_cast<std::size_t>(column);
    double value = 0;
    const NumberText kind = parse_number(row[position], value);
    if (kind == NumberText::number) return value;
    const std::string label = header_.empty() ? "" : fmt::format(" ({})", shown(header_[position]));
    const char* expected = kind == NumberText::out_of_range ? "a number in the range of float64" : "a number";
    throw InputError({name(),
                      fmt::format("line {}, column {}{} holds {}", row_line_, column + 1, label, shown(row[position])),
                      expected,
                      kind == NumberText::out_of_range ? "Use another unit, or leave the value empty."
                                                       : number_remedy(row[position], fields_)});
}

namespace {

/// Whether text is a whole number of at most 19 digits that no double is: a neighbour would stand for it.
bool is_rounded_integer(std::string_view text, double value) {
    constexpr double exact = 0x1.0p53;
    constexpr double largest = 0x1.0p63;
    if (!(std::abs(value) >= exact && std::abs(value) < largest)) return false;
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '+')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    return error == std::errc() && end == text.data() + text.size() && static_cast<std::int64_t>(value) != whole;
}

}  // namespace

double CsvReader::exact_number(std::span<const std::string_view> row, Index column) const {
    const double value = number(row, column);
    const std::string_view text = row[static_cast<std::size_t>(column)];
    if (!is_rounded_integer(text, value)) return value;
    throw InputError({name(), fmt::format("line {}, column {} holds {}", row_line_, column + 1, shown(text)),
                      "whole numbers that float64 holds exactly, as all up to 9007199254740992 are",
                      "Leave out identifiers, or write the number in another unit."});
}

Tensor<double> read_csv(CsvReader& csv, Index max_bytes) {
    std::vector<double> values;
    Labels labels;
    Index rows = 0;
    std::size_t columns = 0;
    for (std::vector<std::string_view> row; csv.next(row);) {
        if (columns == 0) {
            columns = row.size();
            if (is_header(row)) {
                labels = column_labels(row, csv.name());
                continue;
            }
        }
        const std::size_t bytes = (values.size() + columns) * sizeof(double);
        if (bytes > static_cast<std::size_t>(max_bytes)) {
            throw InputError({csv.name(),
                              fmt::format("more than {} bytes of numbers by line {}", max_bytes, csv.line_number()),
                              "a matrix within that limit", "Split the file by patients."});
        }
        for (std::size_t c = 0; c < columns; ++c) values.push_back(csv.exact_number(row, static_cast<Index>(c)));
        ++rows;
    }
    if (rows == 0) {
        throw InputError({csv.name(), "no rows of numbers", "at least one row", "Check how the file was made."});
    }
    Tensor<double> matrix(Shape{rows, static_cast<Index>(columns)});
    std::copy(values.begin(), values.end(), matrix.data());
    matrix.set_labels(std::move(labels));
    return matrix;
}

}  // namespace couplet
