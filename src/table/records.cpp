#include "couplet/table/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "couplet/core/error.hpp"
#include "couplet/io/foreign_file.hpp"
#include "couplet/io/line_reader.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/delimited.hpp"
#include "couplet/table/fhir.hpp"
#include "couplet/table/json_lines.hpp"

namespace couplet {
namespace {

std::string without_gz(std::string name) {
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    return name;
}

bool is_json_lines(const std::filesystem::path& path, const TextForm& form) {
    if (form.kind != TextForm::Kind::detect) return form.kind == TextForm::Kind::ndjson;
    const std::string name = without_gz(path.string());
    return name.ends_with(".ndjson") || name.ends_with(".jsonl");
}

/// The first line that is not blank.
std::string first_line(const std::filesystem::path& path) {
    LineReader lines(path);
    for (std::string_view line; lines.next(line);) {
        if (line.find_first_not_of(" \t") != std::string_view::npos) return std::string(line);
    }
    throw InputError({path.string(), "an empty file", "a table", "Check how it was exported."});
}

void refuse_binary(const std::filesystem::path& path, std::string_view line) {
    const std::string_view start = line.substr(0, 4096);
    if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
        throw InputError({path.string(), "UTF-16 text", "UTF-8 or Latin-1 text",
                          "Convert it, for example with iconv -f utf-16 -t utf-8."});
    }
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r'; };
    const auto found = std::find_if(start.begin(), start.end(), control);
    if (found == start.end()) return;
    throw InputError(
        {path.string(), fmt::format("binary data in line 1, byte {}", found - start.begin() + 1), "a text table",
         table_import(path).value_or("Export it as csv or ndjson; Parquet comes through couplet.table in Python.")});
}

/// A whole table as one JSON value, by its name or its first line.
void refuse_json_array(const std::filesystem::path& path, std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool array = line.starts_with('[') && (line.size() == 1 || line.find('{') != std::string_view::npos ||
                                                 without_gz(path.string()).ends_with(".json"));
    if (!array) return;
    const std::string lines = "In Python: import pandas; pandas.read_json('FILE').to_csv('x.csv', index=False)";
    throw InputError(
        {path.string(), "a JSON array", "csv, or a JSON object a line (ndjson)", table_import(path).value_or(lines)});
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// "1.234,5" as "1234.5": points may only group digits by three, before the comma. Nothing for other uses of a point.
std::optional<std::string> ungrouped(std::string_view cell, char decimal) {
    const std::string_view whole = cell.substr(0, cell.find(decimal));
    if (cell.substr(whole.size()).find('.') != std::string_view::npos) return std::nullopt;
    std::string text;
    std::size_t digits = 0;  // since the last point
    bool grouped = false;
    for (const char c : whole) {
        if (c == '.') {
            if (digits == 0 || digits > 3 || (grouped && digits != 3)) return std::nullopt;
            grouped = true;
            digits = 0;
            continue;
        }
        digits = is_digit(c) ? digits + 1 : 0;
        text += c;
    }
    if (grouped && digits != 3) return std::nullopt;
    text += cell.substr(whole.size());
    std::replace(text.begin(), text.end(), decimal, '.');
    return text;
}

NumberText read_number(std::string_view cell, char decimal, double& value) {
    if (decimal == '.') return parse_number(cell, value);
    const auto text = ungrouped(cell, decimal);
    return text ? parse_number(*text, value) : NumberText::not_a_number;
}

std::string number_remedy(std::string_view cell, char decimal) {
    const std::size_t comma = cell.rfind(',');
    const std::size_t point = cell.rfind('.');
    if (decimal != '.') {
        if (point != std::string_view::npos) return "With `decimal` comma a point only groups digits: 1.234,5.";
    } else if (comma != std::string_view::npos) {
        const bool groups = point != std::string_view::npos && point > comma;
        return groups ? "Write it without commas between the thousands." : "Use `decimal` comma for numbers like 1,5.";
    }
    return "Leave missing values empty; COLUMN:category takes text in a wide table.";
}

}  // namespace

bool RecordReader::has_column(std::string_view name) const {
    return std::find(columns_.begin(), columns_.end(), name) != columns_.end();
}

Index RecordReader::column(std::string_view name) const {
    const auto count = std::count(columns_.begin(), columns_.end(), name);
    if (count == 1) return std::find(columns_.begin(), columns_.end(), name) - columns_.begin();
    constexpr std::size_t most = 40;
    std::string all;
    for (std::size_t i = 0; i < std::min(columns_.size(), most); ++i) all += (i > 0 ? ", " : "") + shown(columns_[i]);
    if (columns_.size() > most) all += ", ...";
    throw InputError({name_,
                      fmt::format("{} column {} among {}", count == 0 ? "no" : "more than one", shown(name), all),
                      "one column of that name",
                      count > 1              ? "Rename one of them in the first line."
                      : columns_.size() == 1 ? "Perhaps the separator is another one: see `separator`."
                                             : "Spell it as in the first line."});
}

std::string RecordReader::place(Index column) const {
    return fmt::format("line {}, column {} ({})", line(), column + 1, columns_[static_cast<std::size_t>(column)]);
}

void RecordReader::refuse(Index column, const std::string& found, const std::string& expected,
                          const std::string& remedy) const {
    throw InputError({name_ + ", " + place(column), found, expected, remedy});
}

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, const TextForm& form,
                                           std::span<const std::string> wanted) {
    const std::string start = first_line(path);
    refuse_binary(path, start);
    if (!is_json_lines(path, form)) {
        refuse_json_array(path, start);
        TextForm as = form;
        if (as.separator == '\0' && without_gz(path.string()).ends_with(".tsv")) as.separator = '\t';
        return std::make_unique<DelimitedReader>(path, as);
    }
    if (const auto type = fhir_resource_type(start); type && !fhir_mode_name(*type).empty()) {
        return std::make_unique<FhirReader>(path);
    }
    // What is no JSON is told as such, before anybody asks which columns it has.
    std::vector<std::string_view> row;
    JsonLinesReader(path, {}).next(row);
    return std::make_unique<JsonLinesReader>(path, wanted);
}

std::string table_name(const std::filesystem::path& path) {
    const std::string name = without_gz(path.filename().string());
    return name.substr(0, name.find('.'));
}

bool is_number_cell(std::string_view cell, char decimal) {
    double value = 0;
    return read_number(cell, decimal, value) == NumberText::number && std::isfinite(value);
}

double number_cell(const RecordReader& reader, Index column, std::string_view cell, char decimal) {
    if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const NumberText kind = read_number(cell, decimal, value);
    if (kind == NumberText::number && std::isfinite(value)) return value;
    reader.refuse(column, shown(cell),
                  kind == NumberText::out_of_range ? "a number in the range of float64" : "a number",
                  number_remedy(cell, decimal));
}

std::string_view trimmed(std::string_view text) noexcept {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

std::string latin1_to_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            out += c;
        } else {
            out += static_cast<char>(0xC0 | (byte >> 6));
            out += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return out;
}

}  // namespace couplet
