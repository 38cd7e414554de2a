#pragma once

#include <set>
#include <span>

#include "books.hpp"
#include "couplet/table/build.hpp"
#include "couplet/table/table_spec.hpp"

namespace couplet {

/// A column of a wide table: what it is called, without its unit, and what it holds.
struct FoundColumn {
    std::string label = {};
    std::string unit = {};
    WideColumn::Kind kind = WideColumn::Kind::detect;
    std::vector<std::uint32_t> without = {};  ///< patients whose category or date is missing, in their order
};

/// A feature mode and the codes met in it.
struct FoundMode {
    std::string name = {};
    TermKind kind = TermKind::codes;
    std::optional<TimeBin> bin = {};
    CodeBook book = {};
    CodeFacts whole = {};                   ///< of bins whose table has no codes: what is known of all of them
    std::vector<FoundColumn> columns = {};  ///< of a wide table
};

/// Modes whose codes come together, and the cells of them.
struct Block {
    std::vector<std::size_t> modes = {};  ///< places among all modes
    CellStore cells;
};

/// Everything the tables say, by patient and code.
struct Gathered {
    std::vector<FoundMode> modes = {};
    std::vector<Block> blocks = {};
    TextBook patients = {};
    bool in_order = false;  ///< the patients are, as in a wide table
    std::vector<std::string> tables = {};
    std::vector<Index> records = {};
    Index withdrawn = 0;
    Index without_value = 0;  ///< events without a number where one counts
    Index without_code = 0;   ///< events skipped for want of a code
    Index mapped_events = 0;
    Index unmapped_events = 0;
    std::set<std::string> unmapped = {};  ///< codes that the map lacks
    CellRule rule = CellRule::presence;
};

/// Reads tables of events, one record after the other. Temporary files go to `folder`.
Gathered gather_events(std::span<const TableInput> tables, const TableOptions& options,
                       const std::filesystem::path& folder, const ProgressSink& progress);

/// Reads a table with one row per patient.
Gathered gather_wide(std::span<const TableInput> tables, const TableOptions& options,
                     const std::filesystem::path& folder, const ProgressSink& progress);

}  // namespace couplet
