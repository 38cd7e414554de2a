#include "couplet/table/json_lines.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

namespace dom = simdjson::dom;

std::vector<std::string> path_of(std::string_view text) {
    std::vector<std::string> path;
    for (;;) {
        const std::size_t dot = text.find('.');
        path.emplace_back(text.substr(0, dot));
        if (dot == std::string_view::npos) return path;
        text.remove_prefix(dot + 1);
    }
}

/// What stands at the path; an error where nothing does.
simdjson::simdjson_result<dom::element> follow(dom::element from, const std::vector<std::string>& path) {
    simdjson::simdjson_result<dom::element> at(std::move(from));
    for (const std::string& step : path) {
        dom::element here;
        if (at.get(here) != simdjson::SUCCESS) return at;
        if (here.is_array()) {
            std::size_t number = 0;
            const auto [end, failed] = std::from_chars(step.data(), step.data() + step.size(), number);
            if (failed != std::errc{} || end != step.data() + step.size()) return simdjson::INCORRECT_TYPE;
            at = here.get_array().at(number);
        } else {
            at = here[step];
        }
    }
    return at;
}

}  // namespace

struct JsonLinesReader::Parser {
    dom::parser dom;
};

JsonLinesReader::JsonLinesReader(const std::filesystem::path& path, std::span<const std::string> wanted)
    : RecordReader(path.string(), {wanted.begin(), wanted.end()}),
      lines_(path),
      parser_(std::make_unique<Parser>()),
      cells_(wanted.size()) {
    for (const std::string& column : wanted) paths_.push_back(path_of(column));
}

JsonLinesReader::JsonLinesReader(std::span<const std::byte> bytes, std::string name,
                                 std::span<const std::string> wanted)
    : RecordReader(name, {wanted.begin(), wanted.end()}),
      lines_(bytes, name),
      parser_(std::make_unique<Parser>()),
      cells_(wanted.size()) {
    for (const std::string& column : wanted) paths_.push_back(path_of(column));
}

JsonLinesReader::~JsonLinesReader() = default;

bool JsonLinesReader::next(std::vector<std::string_view>& row) {
    std::string_view line;
    do {
        if (!lines_.next(line)) return false;
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    dom::element object;
    const auto failed = parser_->dom.parse(line.data(), line.size()).get(object);
    if (failed != simdjson::SUCCESS || !object.is_object()) {
        throw InputError({fmt::format("{}, line {}", name_, lines_.line_number()),
                          failed != simdjson::SUCCESS
                              ? fmt::format("no JSON ({}): {}", simdjson::error_message(failed), shown(line))
                              : "JSON that is no object",
                          "one JSON object a line", "Check that the file is ndjson and complete."});
    }
    row.clear();
    for (std::size_t c = 0; c < paths_.size(); ++c) {
        dom::element value;
        cells_[c].clear();
        if (follow(object, paths_[c]).get(value) == simdjson::SUCCESS && !value.is_null()) {
            if (value.is_object() || value.is_array()) {
                refuse(static_cast<Index>(c), value.is_object() ? "an object" : "a list", "a text or a number",
                       "Name what is inside: " + columns_[c] + (value.is_object() ? ".NAME" : ".0"));
            }
            if (value.is_string()) {
                cells_[c] = std::string_view(value);
            } else {
                cells_[c] = simdjson::minify(value);
            }
        }
        row.push_back(trimmed(cells_[c]));
    }
    return true;
}

}  // namespace couplet
