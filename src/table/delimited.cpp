#include "couplet/table/delimited.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

template <class Source>
char separator_of(const Source& make_lines, const TextForm& form) {
    if (form.separator != '\0') return form.separator;
    LineReader lines = make_lines();
    for (std::string_view line; lines.next(line);) {
        if (!line.empty()) return detect_separator(line);
    }
    return ',';
}

}  // namespace

char detect_separator(std::string_view line) noexcept {
    constexpr std::array candidates{',', ';', '\t', '|'};
    std::array<std::size_t, candidates.size()> counts{};
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        for (std::size_t i = 0; i < candidates.size(); ++i) counts[i] += c == candidates[i] ? 1 : 0;
    }
    return candidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

DelimitedReader::DelimitedReader(const std::filesystem::path& path, const TextForm& form)
    : DelimitedReader(path.string(), CsvReader(path, separator_of([&] { return LineReader(path); }, form)), form) {}

DelimitedReader::DelimitedReader(std::span<const std::byte> bytes, std::string name, const TextForm& form)
    : DelimitedReader(name, CsvReader(bytes, name, separator_of([&] { return LineReader(bytes, name); }, form)), form) {
}

DelimitedReader::DelimitedReader(std::string name, CsvReader csv, const TextForm& form)
    : RecordReader(std::move(name), {}), csv_(std::move(csv)), form_(form) {
    read_header();
}

void DelimitedReader::read_header() {
    if (!csv_.next(first_)) throw InputError({name_, "an empty file", "a table", "Check how it was exported."});
    for (std::size_t c = 0; c < first_.size(); ++c) columns_.push_back(std::to_string(c + 1));
    for (std::size_t c = 0; c < first_.size(); ++c) {
        if (first_[c].find('\r') == std::string_view::npos) continue;
        refuse(static_cast<Index>(c), "a carriage return in the middle of the first line",
               "lines that end with LF or CRLF", "Convert it, for example with tr '\\r' '\\n'.");
    }
    check_text(first_);
    if (!form_.header) {
        waiting_ = true;
        return;
    }
    for (std::size_t c = 0; c < first_.size(); ++c) columns_[c] = std::string(trimmed(first_[c]));
}

/// Makes UTF-8 of what is not, or refuses it.
void DelimitedReader::check_text(std::vector<std::string_view>& row) {
    converted_.clear();
    for (std::size_t c = 0; c < row.size(); ++c) {
        const auto high = [](char x) { return static_cast<unsigned char>(x) >= 0x80 || x == '\0'; };
        if (std::none_of(row[c].begin(), row[c].end(), high)) continue;
        if (row[c].find('\0') != std::string_view::npos) {
            refuse(static_cast<Index>(c), "binary data " + shown(row[c]), "text", "Check how the file was made.");
        }
        if (form_.encoding == Encoding::latin1) {
            row[c] = converted_.emplace_back(latin1_to_utf8(row[c]));
        } else if (!is_utf8(row[c])) {
            refuse(static_cast<Index>(c), "text that is not UTF-8: " + shown(row[c]), "UTF-8",
                   "Use `encoding` latin-1 where the table is of an older system.");
        }
    }
}

bool DelimitedReader::next(std::vector<std::string_view>& row) {
    if (waiting_) {
        waiting_ = false;
        row = first_;
        for (std::string_view& cell : row) cell = trimmed(cell);
        return true;
    }
    if (!csv_.next(row)) return false;
    check_text(row);
    for (std::string_view& cell : row) cell = trimmed(cell);
    return true;
}

}  // namespace couplet
