#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/table/cell_store.hpp"
#include "couplet/table/code_map.hpp"
#include "couplet/table/dates.hpp"
#include "couplet/table/records.hpp"
#include "couplet/table/vocabulary.hpp"

namespace couplet {

/// A table to read, once.
struct TableInput {
    std::string name = {};  ///< in specifications of modes
    /// Opens it; `wanted` are the columns that will be asked for.
    std::function<std::unique_ptr<RecordReader>(std::span<const std::string> wanted)> open = {};
};
TableInput file_input(const std::filesystem::path& path, const TextForm& form, std::string name = {});

/// What build_table() may write in its folder.
inline constexpr std::array<const char*, 6> table_files{"tensor.npy",  "tensor.tns",  "patients.csv",
                                                        "schema.json", "unknown.csv", "manifest.json"};

enum class TableLayout { automatic, dense, sparse };

/// Whether every mode has a label first that every patient has (any_label, couplet/tensor/any_label.hpp): with it
/// prevalences are part of the tensor, and features can be formed from what deviates from them. automatic: as the
/// schema has it; without one where two tables or more of codes are multiplied by presence.
enum class AnyLabel { automatic, on, off };

struct TableOptions {
    /// "[TABLE:]COLUMN" with the identifier, for each table or for all; empty: of the known form
    std::vector<std::string> patient = {};
    std::vector<std::string> modes =
        {};             ///< see table_spec.hpp; empty: of the known forms, or one mode of a wide table
    bool wide = false;  ///< one row per patient
    std::vector<std::string> values = {};  ///< of events: columns with a number
    std::vector<std::string> units = {};
    std::vector<std::string> times = {};
    std::optional<CellRule> rule = {};  ///< mean where there is a value, presence else
    char decimal = '.';
    DateOrder dates = DateOrder::iso;
    std::optional<Vocabulary> schema = {};  ///< build to it; otherwise of what is found
    std::vector<Index> top = {};            ///< keep so many of the most frequent terms; one for all modes, or one each
    Index most_codes = 100'000;             ///< more in one mode are refused: the column is no code list
    bool skip_empty = false;                ///< events without a code are counted and left out, instead of refused
    /// What codes of the tables are in the federation's code list, see code_map.hpp.
    std::shared_ptr<const CodeMap> map = {};
    bool keep_empty = false;  ///< rows for patients of whom nothing is known
    bool absent_nan = false;  ///< an entry without an event is not known, instead of zero
    std::function<std::string(const std::string& mode, const std::string& code)> name_of = {};  ///< further labels
    TableLayout layout = TableLayout::automatic;
    AnyLabel any = AnyLabel::off;
};

/// A term that the schema does not have.
struct UnknownTerm {
    std::string mode = {};
    std::string code = {};
    std::string label = {};
    Index events = 0;
};

/// What was read and written.
struct TableReport {
    Vocabulary vocabulary = {};  ///< of the modes, with this site's counts
    std::vector<std::string> tables = {};
    std::vector<Index> records = {};  ///< of each table
    Index withdrawn = 0;              ///< FHIR resources that say they are wrong, or are of no patient
    Index without_value = 0;          ///< events without a number where numbers count
    Index without_code = 0;           ///< events that were skipped for want of a code
    Index mapped_events = 0;          ///< whose codes the map has
    Index unmapped_events = 0;        ///< with a map: whose codes it lacks; they keep them
    Index unmapped_codes = 0;
    Index patients = 0;  ///< rows
    Index without = 0;   ///< patients met who have nothing that counts, and no row
    Index entries = 0;   ///< that are not zero, or that are known with absent_nan
    Index missing = 0;   ///< entries that are NaN
    std::vector<UnknownTerm> unknown = {};
    Index unknown_events = 0;
    Index cut_terms = 0;    ///< terms that `top` left out
    std::string file = {};  ///< tensor.npy or tensor.tns
};

/// Reads tables of events (or a wide one) in one pass and writes a folder: tensor.npy or tensor.tns (whichever is
/// smaller), patients.csv with the identifier of every row, schema.json, manifest.json with the terms and how many
/// patients have each, and unknown.csv where the schema lacks terms. Modes from one table count together (an event is
/// one cell); those from different tables are multiplied, patient by patient: presence in both. Rows are in the order
/// of the identifiers, of a wide table in its own. Memory: about 100 bytes per patient and term, and 96 MiB for each
/// table. Throws InputError that names the file, the line and the column; then nothing is left behind.
TableReport build_table(std::span<const TableInput> tables, const TableOptions& options,
                        const std::filesystem::path& folder, bool overwrite, const ProgressSink& progress = {});

}  // namespace couplet
