#include "couplet/table/code_map.hpp"

#include <fmt/format.h>

#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/records.hpp"

namespace couplet {
namespace {

/// Positions of the columns; -1: there is none.
struct MapColumns {
    Index local = -1, shared = -1, label = -1, mode = -1, relationship = -1, invalid = -1;
};

MapColumns columns_of(const RecordReader& reader) {
    const auto at = [&](const char* name) { return reader.has_column(name) ? reader.column(name) : Index{-1}; };
    MapColumns columns{.local = at("local"), .shared = at("shared"), .label = at("label"), .mode = at("mode")};
    if (columns.local >= 0 && columns.shared >= 0) return columns;
    columns = {.local = at("concept_id_1"),
               .shared = at("concept_id_2"),
               .relationship = at("relationship_id"),
               .invalid = at("invalid_reason")};
    if (columns.local >= 0 && columns.shared >= 0 && columns.relationship >= 0) return columns;
    throw InputError({reader.name(), fmt::format("the columns {}", fmt::join(reader.columns(), ", ")),
                      "local and shared, perhaps label and mode; or those of OMOP's concept_relationship",
                      "Write a line for each code: the site's own, and the one that the sites share."});
}

std::string_view cell(const std::vector<std::string_view>& row, Index column) {
    return column < 0 ? std::string_view() : row[static_cast<std::size_t>(column)];
}

/// Of OMOP's table: whether the row says what a concept is mapped to.
bool counts(const std::vector<std::string_view>& row, const MapColumns& columns) {
    if (columns.relationship < 0) return true;
    return cell(row, columns.relationship) == "Maps to" && cell(row, columns.invalid).empty() &&
           cell(row, columns.local) != cell(row, columns.shared);
}

}  // namespace

void CodeMap::add(std::string_view mode, std::string_view local, Shared shared, const std::string& where) {
    const auto [at, fresh] = codes_.try_emplace({std::string(mode), std::string(local)}, shared);
    if (fresh || at->second.code == shared.code) return;
    throw InputError({where, fmt::format("{} is {} and {}", shown(local), shown(at->second.code), shown(shared.code)),
                      "one meaning of every code", "Keep the line that is meant."});
}

const CodeMap::Shared* CodeMap::find(std::string_view mode, std::string_view local) const {
    for (const std::string_view of : {mode, std::string_view()}) {
        const auto at = codes_.find(std::pair<std::string, std::string>(of, local));
        if (at != codes_.end()) return &at->second;
    }
    return nullptr;
}

CodeMap load_code_map(const std::filesystem::path& file) {
    const auto reader = open_records(file, {});
    const MapColumns columns = columns_of(*reader);
    CodeMap map;
    for (std::vector<std::string_view> row; reader->next(row);) {
        if (!counts(row, columns)) continue;
        for (const Index column : {columns.local, columns.shared}) {
            if (cell(row, column).empty()) reader->refuse(column, "no code", "a code", "Leave such lines out.");
        }
        map.add(cell(row, columns.mode), cell(row, columns.local),
                {std::string(cell(row, columns.shared)), std::string(cell(row, columns.label))},
                fmt::format("{}, {}", reader->name(), reader->place(columns.local)));
    }
    if (map.size() == 0) {
        throw InputError({file.string(), "no codes", "a line for each code of the site", "Check how it was exported."});
    }
    return map;
}

}  // namespace couplet
