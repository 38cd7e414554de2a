#include "layout.hpp"

#include <algorithm>

namespace couplet::cli {
namespace {

std::string padding(std::size_t from, std::size_t to) { return std::string(to > from ? to - from : 0, ' '); }

void wrap_line(std::string_view line, std::size_t indent, bool continues, std::string& out) {
    std::size_t column = indent;
    if (!continues && !line.empty()) out.append(indent, ' ');
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, end);
        const std::size_t width = display_width(word);
        if (column > indent && column + 1 + width > line_width) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += width;
        line.remove_prefix(std::min(end + 1, line.size()));
    }
}

}  // namespace

std::size_t display_width(std::string_view text) {
    const auto starts_point = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_point));
}

std::string wrapped(std::string_view text, std::size_t indent, bool continues) {
    std::string out;
    for (;;) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        wrap_line(text.substr(0, end), indent, continues, out);
        if (end == text.size()) return out;
        out += '\n';
        continues = false;
        text.remove_prefix(end + 1);
    }
}

std::string fields(const std::vector<std::pair<std::string, std::string>>& rows, std::size_t indent) {
    std::size_t widest = 0;
    for (const auto& [name, value] : rows) widest = std::max(widest, display_width(name));
    const std::size_t column = indent + widest + 2;
    std::string out;
    for (const auto& [name, value] : rows) {
        out.append(indent, ' ');
        out += name + padding(indent + display_width(name), column) + wrapped(value, column, true) + "\n";
    }
    return out;
}

namespace {

/// Numbers are easier to compare when they end in one place, words when they begin in one.
bool is_column_of_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
    return std::all_of(rows.begin() + (rows.empty() ? 0 : 1), rows.end(), [&](const auto& row) {
        if (column >= row.size() || row[column].empty()) return true;
        return std::string_view("0123456789-+.<>").find(row[column].front()) != std::string_view::npos;
    });
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    std::vector<bool> right;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], display_width(row[j]));
    }
    for (std::size_t j = 0; j < widths.size(); ++j) right.push_back(j > 0 && is_column_of_numbers(rows, j));
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t j = 0; j < row.size(); ++j) {
            const std::string space = padding(display_width(row[j]), widths[j]);
            line += (j == 0 ? "" : "  ") + (right[j] ? space + row[j] : row[j] + space);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

}  // namespace couplet::cli
