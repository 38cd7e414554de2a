#include "gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/fhir.hpp"
#include "identifiers.hpp"

namespace couplet {
namespace {

constexpr Index report_every = 1 << 16;

/// The column that one of `refs` names for this table; empty where none does.
std::string column_for(const std::vector<std::string>& refs, const std::string& table) {
    std::string column;
    for (const std::string& text : refs) {
        const ColumnRef ref = parse_column_ref(text);
        if (ref.table.empty() || ref.table == table) column = ref.column;
    }
    return column;
}

/// A column of a table that is not there would be forgotten without a word.
void require_tables(const char* option, const std::vector<std::string>& refs, std::span<const TableInput> tables) {
    for (const std::string& text : refs) {
        const ColumnRef ref = parse_column_ref(text);
        const bool there = ref.table.empty() || std::any_of(tables.begin(), tables.end(), [&](const TableInput& table) {
                               return table.name == ref.table;
                           });
        if (there) continue;
        std::set<std::string> names;
        for (const TableInput& table : tables) names.insert(table.name);
        throw InputError({option, "a table " + shown(ref.table),
                          fmt::format("one of the tables {}", fmt::join(names, ", ")),
                          "Write TABLE:COLUMN; a table has the name of its file without endings."});
    }
}

/// How one table of events is read: its columns, and the modes of its block.
struct EventPlan {
    std::vector<EventMode> modes = {};
    std::string patient = {};
    std::string value = {};
    std::string unit = {};
    std::string time = {};
    std::string unmapped = {};
    std::string system = {};
    bool unit_asked = false;  ///< somebody has named the column of the units
};

/// The modes that the user asks for, by table.
std::map<std::string, std::vector<EventMode>> asked_modes(std::span<const TableInput> tables,
                                                          const TableOptions& options,
                                                          std::vector<std::string>& order) {
    std::set<std::string> names;
    for (const TableInput& table : tables) names.insert(table.name);
    std::map<std::string, std::vector<EventMode>> modes;
    for (const std::string& text : options.modes) {
        EventMode mode = parse_event_mode(text);
        if (mode.table.empty() && names.size() == 1) mode.table = *names.begin();
        if (!names.contains(mode.table)) {
            throw InputError({"`modes`", mode.table.empty() ? shown(text) : "a table " + shown(mode.table),
                              fmt::format("one of the tables {}", fmt::join(names, ", ")),
                              "Write TABLE:COLUMN; a table has the name of its file without endings."});
        }
        order.push_back(mode.name);
        modes[mode.table].push_back(std::move(mode));
    }
    for (const std::string& name : names) {
        if (options.modes.empty() || modes.contains(name)) continue;
        throw InputError({"`modes`", "no mode from the table " + shown(name), "at least one from every table",
                          "Name a column of it, or leave the table out."});
    }
    for (const auto& [table, list] : modes) {
        if (list.size() > most_event_modes) {
            throw InputError({"`modes`", fmt::format("{} modes from the table {}", list.size(), table),
                              fmt::format("at most {} from one table", most_event_modes), ""});
        }
    }
    if (std::set<std::string>(order.begin(), order.end()).size() != order.size()) {
        throw InputError({"`modes`", "two modes of one name", "names that differ", "Write NAME=COLUMN."});
    }
    return modes;
}

std::vector<std::string> wanted_columns(const std::vector<EventMode>& modes, const TableOptions& options,
                                        const std::string& table) {
    std::vector<std::string> wanted;
    const auto want = [&](const std::string& column) {
        if (!column.empty() && std::find(wanted.begin(), wanted.end(), column) == wanted.end())
            wanted.push_back(column);
    };
    want(column_for(options.patient, table));
    for (const EventMode& mode : modes) {
        want(mode.column);
        want(mode.label_column);
    }
    want(column_for(options.values, table));
    want(column_for(options.units, table));
    want(column_for(options.times, table));
    return wanted;
}

[[noreturn]] void refuse_identifiers(const std::string& column) {
    throw InputError({"`modes`", "the column " + shown(column) + ", which identifies the patients",
                      "columns that say something about them", "Identifiers stay in patients.csv: leave it out."});
}

EventPlan make_plan(const RecordReader& reader, const std::vector<EventMode>& asked, const TableOptions& options,
                    const std::string& table) {
    const auto form = known_form(reader);
    EventPlan plan{.modes = asked,
                   .patient = column_for(options.patient, table),
                   .value = column_for(options.values, table),
                   .unit = column_for(options.units, table),
                   .time = column_for(options.times, table)};
    plan.unit_asked = !plan.unit.empty();
    if (form) {
        if (plan.modes.empty()) plan.modes.push_back({form->mode, table, form->code, form->label, {}});
        if (plan.patient.empty()) plan.patient = form->patient;
        if (plan.value.empty()) {
            plan.value = form->value;
            if (plan.unit.empty()) plan.unit = form->unit;
        }
        if (plan.time.empty()) plan.time = form->time;
        const bool own_code = plan.modes.front().column == form->code;
        if (own_code) {
            plan.unmapped = form->unmapped;
            plan.system = form->system;
        }
    }
    if (plan.unit_asked && plan.value.empty()) {
        throw InputError(
            {"`unit`", "a unit of no value", "`value` COLUMN beside it", "Name the column of the values."});
    }
    if (plan.modes.empty() || plan.patient.empty()) {
        throw InputError(
            {reader.name(), plan.modes.empty() ? "a table of no known form" : "no column of the patients",
             "`patient` COLUMN and `modes` COLUMN ...",
             "FHIR, OMOP and Synthea tables are known; of others say which columns count. One row for each patient: "
             "use `wide`."});
    }
    // Codes and labels travel with the schema.
    for (const EventMode& mode : plan.modes) {
        if (mode.column == plan.patient || mode.label_column == plan.patient) refuse_identifiers(plan.patient);
    }
    return plan;
}

/// Positions of the columns of a plan; -1: there is none.
struct EventColumns {
    Index patient = -1, value = -1, unit = -1, time = -1, system = -1;
    std::vector<Index> codes, labels;

    EventColumns(const RecordReader& reader, const EventPlan& plan, bool with_value, bool with_time) {
        const auto find = [&](const std::string& name) { return name.empty() ? Index{-1} : reader.column(name); };
        patient = find(plan.patient);
        if (with_value) value = find(plan.value);
        if (with_value) unit = find(plan.unit);
        if (with_time) time = find(plan.time);
        system = find(plan.system);
        for (const EventMode& mode : plan.modes) {
            codes.push_back(find(mode.column));
            labels.push_back(find(mode.label_column));
        }
    }
};

std::string_view cell(const std::vector<std::string_view>& row, Index column) {
    return column < 0 ? std::string_view() : row[static_cast<std::size_t>(column)];
}

[[noreturn]] void refuse_date(const RecordReader& reader, Index column, std::string_view text, DateOrder order) {
    reader.refuse(column, shown(text), "a date that exists, like 2024-03-31",
                  order == DateOrder::iso ? "For 31.3.2024 or 3/31/2024 use `dates` day-first or month-first."
                                          : "Years have four digits.");
}

std::int64_t date_cell(const RecordReader& reader, const std::vector<std::string_view>& row, Index column,
                       DateOrder order) {
    const auto day = parse_date(cell(row, column), order);
    if (!day) refuse_date(reader, column, cell(row, column), order);
    return *day;
}

double moment_cell(const RecordReader& reader, const std::vector<std::string_view>& row, Index column,
                   DateOrder order) {
    const auto moment = parse_moment(cell(row, column), order);
    if (!moment) refuse_date(reader, column, cell(row, column), order);
    return *moment;
}

std::string bin_cell(const RecordReader& reader, const std::vector<std::string_view>& row, Index column, TimeBin bin,
                     DateOrder order) {
    const auto number = parse_bin_date(cell(row, column), bin, order);
    if (!number) refuse_date(reader, column, cell(row, column), order);
    return bin_label(*number, bin);
}

/// Reads the records of one table into its block.
class EventReader {
  public:
    EventReader(Gathered& all, Block& block, RecordReader& reader, const EventPlan& plan, const TableOptions& options)
        : all_(all),
          block_(block),
          reader_(reader),
          plan_(plan),
          options_(options),
          columns_(reader, plan, takes_value(all.rule), all.rule == CellRule::last) {
        while (unit_mode_ < plan.modes.size() && plan.modes[unit_mode_].bin) ++unit_mode_;
    }

    static bool takes_value(CellRule rule) {
        return rule == CellRule::sum || rule == CellRule::mean || rule == CellRule::last;
    }

    Index read(const ProgressSink& progress) {
        if (takes_value(all_.rule) && columns_.value < 0) {
            throw InputError({"`aggregate`", fmt::format("{} of {}", to_string(all_.rule), reader_.name()),
                              "a column with values", "Name it with `value`, or use presence or count."});
        }
        Index records = 0;
        // Files of one table follow each other: without dates what was read later is later.
        const Index before = std::accumulate(all_.records.begin(), all_.records.end(), Index{0});
        for (std::vector<std::string_view> row; reader_.next(row);) {
            take(row, static_cast<double>(before + records));
            if (++records % report_every == 0) {
                check_stop();
                report(progress, "records", records, 0);
            }
        }
        if (plan_.unit_asked && columns_.unit >= 0 && records > 0 && !units_met_) {
            throw InputError({reader_.name(), "no unit in the column " + shown(plan_.unit), "the unit of every value",
                              "Check the name of the column, or leave `unit` out."});
        }
        return records;
    }

  private:
    void take(const std::vector<std::string_view>& row, double place) {
        const std::string_view id = cell(row, columns_.patient);
        if (id.empty()) reader_.refuse(columns_.patient, "no patient", "an identifier", "");
        if (options_.skip_empty && lacks_code(row)) {
            ++all_.without_code;
            return;
        }
        CellKey key{.patient = all_.patients.find_or_add(id).number};
        double value = 1;
        if (columns_.value >= 0) {
            if (cell(row, columns_.value).empty()) {
                ++all_.without_value;
                return;
            }
            value = number_cell(reader_, columns_.value, cell(row, columns_.value), options_.decimal);
        }
        for (std::size_t n = 0; n < plan_.modes.size(); ++n) {
            key.codes[n] = code(row, n, key.patient);
        }
        // Bins alone have no code that a unit could belong to: all values have one.
        if (columns_.value >= 0 && unit_mode_ == plan_.modes.size()) {
            check_unit(row, all_.modes[block_.modes.front()].whole, plan_.value);
        }
        const double time = columns_.time < 0 ? place : moment_cell(reader_, row, columns_.time, options_.dates);
        block_.cells.add(key, value, time);
    }

    bool lacks_code(const std::vector<std::string_view>& row) const {
        return std::any_of(columns_.codes.begin(), columns_.codes.end(),
                           [&](Index column) { return cell(row, column).empty(); });
    }

    /// The code in the list that sites share, and what it is called there.
    const CodeMap::Shared* translate(const FoundMode& mode, std::string_view text) {
        if (!options_.map || mode.bin) return nullptr;
        const CodeMap::Shared* shared = options_.map->find(mode.name, text);
        ++(shared != nullptr ? all_.mapped_events : all_.unmapped_events);
        if (shared == nullptr) all_.unmapped.emplace(text);
        return shared;
    }

    std::uint32_t code(const std::vector<std::string_view>& row, std::size_t n, std::uint32_t patient) {
        FoundMode& mode = all_.modes[block_.modes[n]];
        const Index column = columns_.codes[n];
        std::string_view text = cell(row, column);
        if (text.empty()) {
            reader_.refuse(column, "no code", "a code", "Use `skip_empty` to leave such events out.");
        }
        std::string bin;
        if (mode.bin) {
            bin = bin_cell(reader_, row, column, *mode.bin, options_.dates);
            text = bin;
        }
        const CodeMap::Shared* shared = translate(mode, text);
        if (shared != nullptr) text = shared->code;
        const auto [number, facts] = mode.book.at(text);
        const bool renamed = shared != nullptr && !shared->label.empty();
        facts->labels.add(renamed ? std::string_view(shared->label) : cell(row, columns_.labels[n]), patient);
        if (facts->events++ == 0) {
            if (static_cast<Index>(mode.book.codes.size()) > options_.most_codes) {
                reader_.refuse(column, fmt::format("more than {} different codes", options_.most_codes),
                               "a column that holds codes of a list",
                               "Name another column in `modes`, or raise `max_codes`.");
            }
        }
        if (n == 0 && columns_.system >= 0) check_system(row, *facts, text);
        if (n == unit_mode_ && columns_.value >= 0) check_unit(row, *facts, text);
        return number;
    }

    /// One number may be a code of two lists.
    void check_system(const std::vector<std::string_view>& row, CodeFacts& facts, std::string_view code_text) {
        const std::string_view system = cell(row, columns_.system);
        if (system.empty() || system == facts.system) return;
        if (!facts.system.empty()) {
            reader_.refuse(columns_.codes.front(), fmt::format("{} of {}", shown(code_text), shown(system)),
                           "a code of " + shown(facts.system) + ", as in the events before",
                           "Export one code list, or put what it is of in front of the codes.");
        }
        facts.system = system;
    }

    /// A value without a unit is not one in that of others.
    void check_unit(const std::vector<std::string_view>& row, CodeFacts& facts, std::string_view code_text) {
        std::string_view unit = cell(row, columns_.unit);
        if (unit == plan_.unmapped) unit = {};
        units_met_ = units_met_ || !unit.empty();
        if (!facts.unit) facts.unit = unit;
        if (unit == *facts.unit) return;
        const auto said = [](std::string_view text) { return text.empty() ? "no unit" : shown(text); };
        reader_.refuse(columns_.unit < 0 ? columns_.value : columns_.unit,
                       fmt::format("{} of {}", said(unit), shown(code_text)),
                       said(*facts.unit) + " as in the events before", "Convert the values to one unit first.");
    }

    Gathered& all_;
    Block& block_;
    RecordReader& reader_;
    const EventPlan& plan_;
    const TableOptions& options_;
    EventColumns columns_;
    std::size_t unit_mode_ = 0;  ///< the first mode of codes: units are theirs
    bool units_met_ = false;
};

/// The block of a plan's modes, made when it is first asked for.
Block& block_for(Gathered& all, const EventPlan& plan, const std::filesystem::path& folder, const std::string& where) {
    for (Block& block : all.blocks) {
        if (all.modes[block.modes.front()].name == plan.modes.front().name) return block;
    }
    Block block{{}, CellStore(all.rule, folder)};
    for (const EventMode& mode : plan.modes) {
        auto at = std::find_if(all.modes.begin(), all.modes.end(), [&](const auto& m) { return m.name == mode.name; });
        if (at == all.modes.end()) at = all.modes.insert(all.modes.end(), FoundMode{.name = mode.name});
        at->bin = mode.bin;
        if (mode.bin) at->kind = TermKind::time;
        block.modes.push_back(static_cast<std::size_t>(at - all.modes.begin()));
    }
    constexpr std::size_t most_modes = 6;
    if (all.modes.size() > most_modes) {
        throw InputError({where, fmt::format("{} modes in all", all.modes.size()),
                          fmt::format("at most {} beside the patients", most_modes), ""});
    }
    all.blocks.push_back(std::move(block));
    return all.blocks.back();
}

Index withdrawn_in(const RecordReader& reader) {
    const auto* fhir = dynamic_cast<const FhirReader*>(&reader);
    return fhir == nullptr ? 0 : fhir->withdrawn();
}

}  // namespace

namespace {

/// A table that is open, and how it is read.
struct OpenTable {
    std::string name;
    std::unique_ptr<RecordReader> reader;
    EventPlan plan;
};

std::vector<OpenTable> open_tables(std::span<const TableInput> tables, const TableOptions& options,
                                   const std::map<std::string, std::vector<EventMode>>& asked) {
    std::vector<OpenTable> open;
    for (const TableInput& table : tables) {
        const auto given = asked.find(table.name);
        const std::vector<EventMode> modes = given == asked.end() ? std::vector<EventMode>{} : given->second;
        auto reader = table.open(wanted_columns(modes, options, table.name));
        EventPlan plan = make_plan(*reader, modes, options, table.name);
        open.push_back({table.name, std::move(reader), std::move(plan)});
    }
    return open;
}

/// What cells become where nobody says: it does not depend on which table comes first.
CellRule usual_rule(const std::vector<OpenTable>& tables) {
    const auto valued = [](const OpenTable& table) { return !table.plan.value.empty(); };
    if (std::none_of(tables.begin(), tables.end(), valued)) return CellRule::presence;
    const auto without = std::find_if_not(tables.begin(), tables.end(), valued);
    if (without == tables.end()) return CellRule::mean;
    const auto with = std::find_if(tables.begin(), tables.end(), valued);
    throw InputError({"`aggregate`", fmt::format("values in {} and none in {}", with->name, without->name),
                      "what their cells shall become", "Say `aggregate` presence or count."});
}

/// Numbers of patients are those of one server.
void require_one_server(const RecordReader& reader, std::string& server) {
    const auto* fhir = dynamic_cast<const FhirReader*>(&reader);
    if (fhir == nullptr || fhir->server().empty()) return;
    if (server.empty()) server = fhir->server();
    if (server == fhir->server()) return;
    throw InputError({reader.name(), "patients of the server " + shown(fhir->server()),
                      "those of " + shown(server) + ", as in the files before",
                      "Numbers of two servers are different patients: make a table of each."});
}

}  // namespace

Gathered gather_events(std::span<const TableInput> tables, const TableOptions& options,
                       const std::filesystem::path& folder, const ProgressSink& progress) {
    Gathered all;
    std::vector<std::string> order;
    const auto asked = asked_modes(tables, options, order);
    require_tables("`patient`", options.patient, tables);
    require_tables("`value`", options.values, tables);
    require_tables("`unit`", options.units, tables);
    require_tables("`time`", options.times, tables);
    for (const std::string& name : order) all.modes.push_back({.name = name});
    std::vector<OpenTable> open = open_tables(tables, options, asked);
    all.rule = options.rule ? *options.rule : usual_rule(open);
    std::string server;
    for (OpenTable& table : open) {
        const EventPlan& plan = table.plan;
        const std::unique_ptr<RecordReader> reader = std::move(table.reader);
        Block& block = block_for(all, plan, folder, table.name);
        all.tables.push_back(reader->name());
        all.records.push_back(EventReader(all, block, *reader, plan, options).read(progress));
        all.withdrawn += withdrawn_in(*reader);
        require_one_server(*reader, server);
        if (all.records.back() == 0 && withdrawn_in(*reader) == 0) {
            throw InputError({reader->name(), "no records", "at least one", "Check how the table was exported."});
        }
        if (!plan.unmapped.empty()) {
            FoundMode& mode = all.modes[block.modes.front()];
            if (mode.book.codes.size() > 0) mode.book.at(plan.unmapped).second->group = -1;
        }
    }
    for (Block& block : all.blocks) block.cells.close();
    return all;
}

namespace {

/// A column of a wide table as it is read.
struct OpenColumn {
    WideColumn spec;
    Index at = 0;
    Index since = -1;                       ///< column of the other date
    std::optional<std::int64_t> from = {};  ///< the other date
    std::string label = {};
    std::string unit = {};
    bool detected = false;                    ///< nobody has said what it holds
    std::vector<std::uint32_t> waiting = {};  ///< patients without a value, until it is known what the values are
    Index numbers = 0;                        ///< of a column found to hold categories
    Index texts = 0;
    Index filled = 0;
    Index dates = 0;
    std::string first_text = {};
    ColumnWatch watch = {};  ///< of a column that nobody has named
};

/// What other programs write for a value that is not there.
bool is_missing(std::string_view text) noexcept {
    constexpr std::array<std::string_view, 10> words{"", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "."};
    return std::find(words.begin(), words.end(), text) != words.end();
}

/// Digits behind a zero are those of a code, a postcode for example: as a number it would lose the zero.
bool is_padded(std::string_view text) noexcept {
    return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

/// "age [years]" is a label and its unit.
std::pair<std::string, std::string> split_unit(const std::string& name) {
    const std::size_t open = name.rfind(" [");
    if (open == std::string::npos || open == 0 || !name.ends_with(']')) return {name, ""};
    return {name.substr(0, open), name.substr(open + 2, name.size() - open - 3)};
}

Index wide_column(const RecordReader& reader, const std::string& name) {
    if (reader.has_column(name)) return reader.column(name);
    for (std::size_t c = 0; c < reader.columns().size(); ++c) {
        if (split_unit(reader.columns()[c]).first == name) return static_cast<Index>(c);
    }
    return reader.column(name);  // which refuses it
}

class WideReader {
  public:
    WideReader(Gathered& all, RecordReader& reader, const std::string& table, const std::vector<WideMode>& modes,
               const TableOptions& options, std::vector<Index>& first_lines)
        : all_(all), reader_(reader), options_(options), lines_(first_lines) {
        const std::string patient = column_for(options.patient, table);
        if (patient.empty()) {
            throw InputError({"`patient`", "none", "the column with the patients' identifiers",
                              fmt::format("The columns are {}.", fmt::join(reader.columns(), ", "))});
        }
        patient_ = wide_column(reader, patient);
        for (const WideMode& mode : modes) columns_.push_back(open_mode(mode));
        for (std::size_t n = 0; n < modes.size(); ++n) {
            take_over(all_.modes[n].columns, columns_[n]);
        }
    }

    Index read(const ProgressSink& progress) {
        Index records = 0;
        for (std::vector<std::string_view> row; reader_.next(row);) {
            take(row);
            if (++records % report_every == 0) {
                check_stop();
                report(progress, "records", records, 0);
            }
        }
        for (std::size_t n = 0; n < columns_.size(); ++n) {
            for (std::size_t c = 0; c < columns_[n].size(); ++c) {
                release(n, c);
                require_one_kind(columns_[n][c]);
                all_.modes[n].columns[c].kind = columns_[n][c].spec.kind;
            }
        }
        // A schema has its own values, and others are not kept.
        if (!options_.schema) require_features();
        if (!options_.schema) require_categories();
        return records;
    }

  private:
    /// Files of one table have the same columns, in the same units, and what the first found in them.
    void take_over(std::vector<FoundColumn>& known, std::vector<OpenColumn>& open) const {
        if (known.empty()) {
            for (const OpenColumn& column : open) known.push_back({column.label, column.unit, column.spec.kind});
        }
        std::vector<OpenColumn> ordered;
        for (const FoundColumn& before : known) {
            const auto at = std::find_if(open.begin(), open.end(), [&](const OpenColumn& column) {
                const bool same_kind = column.detected || column.spec.kind == before.kind;
                return column.label == before.label && same_kind;
            });
            if (at == open.end()) {
                throw InputError({reader_.name(), "no column " + shown(before.label), "the columns of the first file",
                                  "Name the columns that all files have in `modes`."});
            }
            if (at->unit != before.unit) {
                const auto said = [](const std::string& unit) { return unit.empty() ? "no unit" : shown(unit); };
                throw InputError({reader_.name(), fmt::format("{} in {}", shown(at->label), said(at->unit)),
                                  said(before.unit) + " as in the first file",
                                  "Convert the values to one unit first."});
            }
            if (at->detected) at->spec.kind = before.kind;
            ordered.push_back(std::move(*at));
            open.erase(at);
        }
        if (!open.empty()) {
            throw InputError({reader_.name(), "a column " + shown(open.front().label), "the columns of the first file",
                              "Name the columns that all files have in `modes`."});
        }
        open = std::move(ordered);
    }

    /// Those who waited have no number, or no category.
    void release(std::size_t n, std::size_t c) {
        OpenColumn& column = columns_[n][c];
        const std::vector<std::uint32_t> waiting = std::move(column.waiting);
        column.waiting.clear();
        if (column.spec.kind == WideColumn::Kind::category) {
            auto& without = all_.modes[n].columns[c].without;
            without.insert(without.end(), waiting.begin(), waiting.end());
            return;
        }
        for (const std::uint32_t patient : waiting) {
            add(n, c, column.label, patient, std::numeric_limits<double>::quiet_NaN());
        }
    }

    /// A word in front of numbers ("unknown") would make every number a category.
    void require_one_kind(const OpenColumn& column) const {
        if (column.numbers == 0 || column.numbers < column.texts) return;
        throw InputError(
            {fmt::format("{}, column {} ({})", reader_.name(), column.at + 1, column.label),
             fmt::format("{} among {} numbers", shown(column.first_text), column.numbers), "numbers, or categories",
             fmt::format("Leave missing values empty, or name the column in `modes` as {0}:category.", column.label)});
    }

    std::vector<OpenColumn> open_mode(const WideMode& mode) {
        std::vector<OpenColumn> open;
        std::vector<WideColumn> specs = mode.columns;
        if (specs.empty()) {
            for (std::size_t c = 0; c < reader_.columns().size(); ++c) {
                if (static_cast<Index>(c) != patient_) specs.push_back({.column = reader_.columns()[c]});
            }
        }
        for (const WideColumn& spec : specs) {
            OpenColumn column{.spec = spec, .at = wide_column(reader_, spec.column)};
            if (column.at == patient_) refuse_identifiers(spec.column);
            column.detected = spec.kind == WideColumn::Kind::detect;
            std::tie(column.label, column.unit) = split_unit(reader_.columns()[static_cast<std::size_t>(column.at)]);
            require_new(open, column);
            if (spec.kind == WideColumn::Kind::since) {
                column.from = parse_date(spec.since, options_.dates);
                if (!column.from) column.since = wide_column(reader_, spec.since);
                column.unit = "days";
            }
            open.push_back(std::move(column));
        }
        return open;
    }

    /// Two columns of one name would be added up.
    void require_new(const std::vector<OpenColumn>& open, const OpenColumn& column) const {
        for (const OpenColumn& other : open) {
            const bool another_view =
                other.at == column.at && other.spec.kind != column.spec.kind && !other.detected && !column.detected;
            if (other.label != column.label || another_view) continue;
            throw InputError(
                {reader_.name(),
                 fmt::format("{} columns called {}", other.at == column.at ? "twice the" : "two", shown(column.label)),
                 "one column of that name, in one unit", "Rename one of them, or leave it out of `modes`."});
        }
    }

    /// What nobody has named may be no feature.
    void require_features() const {
        for (const auto& mode : columns_) {
            for (const OpenColumn& column : mode) {
                if (!column.detected) continue;
                const auto doubt = column.watch.doubt(column.label, column.unit);
                if (!doubt) continue;
                throw InputError({fmt::format("{}, column {} ({})", reader_.name(), column.at + 1, column.label),
                                  doubt->found, "columns that say something about the patients", doubt->remedy});
            }
        }
    }

    /// Text that hardly two patients share identifies them, and would travel with the schema.
    void require_categories() const {
        constexpr Index enough = 20;
        for (std::size_t n = 0; n < columns_.size(); ++n) {
            std::vector<Index> different(columns_[n].size());
            std::vector<Index> filled(columns_[n].size());
            for (const CodeFacts& facts : all_.modes[n].book.facts) {
                if (facts.events > 0) ++different[static_cast<std::size_t>(facts.group)];
                filled[static_cast<std::size_t>(facts.group)] += facts.events;
            }
            for (std::size_t c = 0; c < columns_[n].size(); ++c) {
                const OpenColumn& column = columns_[n][c];
                const bool text = column.detected && column.spec.kind == WideColumn::Kind::category;
                if (text && column.dates > 0 && column.dates == column.filled) refuse_dates(column);
                if (!text || filled[c] < enough || 2 * different[c] <= filled[c]) continue;
                throw InputError(
                    {fmt::format("{}, column {} ({})", reader_.name(), column.at + 1, column.label),
                     fmt::format("{} different values of {} patients", different[c], filled[c]),
                     "numbers, or categories that patients share",
                     fmt::format("Name the columns that count in `modes`. {0}:category keeps it, and "
                                 "{0}:year or {0}:since=DATE make numbers of dates. Numbers with a comma need "
                                 "`decimal` comma.",
                                 column.label)});
            }
        }
    }

    /// Nearly every date would be a category of its own.
    [[noreturn]] void refuse_dates(const OpenColumn& column) const {
        throw InputError(
            {fmt::format("{}, column {} ({})", reader_.name(), column.at + 1, column.label),
             fmt::format("dates, like {}", shown(column.first_text)), "numbers, or categories",
             fmt::format("{0}:year, {0}:month or {0}:since=DATE in `modes` make something of dates (`dates` "
                         "day-first or month-first says how they are written), {0}:category keeps them.",
                         column.label)});
    }

    void take(const std::vector<std::string_view>& row) {
        const std::string_view id = cell(row, patient_);
        if (id.empty()) reader_.refuse(patient_, "no patient", "an identifier", "");
        const auto found = all_.patients.find_or_add(id);
        if (!found.fresh) {
            reader_.refuse(patient_, "the patient " + shown(id) + " again",
                           fmt::format("every patient once; the first time was on line {}", lines_[found.number]),
                           "Tables with several rows per patient are read as events, without `wide`.");
        }
        lines_.push_back(reader_.line());
        for (std::size_t n = 0; n < columns_.size(); ++n) {
            for (std::size_t c = 0; c < columns_[n].size(); ++c) enter(row, n, c, found.number);
        }
    }

    void enter(const std::vector<std::string_view>& row, std::size_t n, std::size_t c, std::uint32_t patient) {
        OpenColumn& column = columns_[n][c];
        const std::string_view text = cell(row, column.at);
        using Kind = WideColumn::Kind;
        const bool missing = is_missing(text);
        if (column.detected && !missing) column.watch.see(text);
        if (column.spec.kind == Kind::detect && !missing) {
            column.spec.kind = detect(text);
            release(n, c);
        }
        switch (column.spec.kind) {
            case Kind::detect:
                column.waiting.push_back(patient);
                return;
            case Kind::number:
                if (column.detected && is_padded(text)) {
                    reader_.refuse(column.at, shown(text), "a number without zeros in front, as in the rows before",
                                   fmt::format("{0}:category keeps them, {0}:number drops them.", column.label));
                }
                return add(n, c, column.label, patient,
                           number_cell(reader_, column.at, missing ? "" : text, options_.decimal));
            case Kind::since:
                return add(n, c, column.label, patient, days_since(row, column));
            case Kind::category:
                if (column.detected ? missing : text.empty()) return miss(n, c, patient);
                if (column.detected) count_kind(column, text);
                return add(n, c, fmt::format("{}={}", column.label, text), patient, 1);
            case Kind::bin:
                if (missing) return miss(n, c, patient);
                return add(n, c,
                           fmt::format("{}={}", column.label,
                                       bin_cell(reader_, row, column.at, column.spec.bin, options_.dates)),
                           patient, 1);
        }
    }

    /// Which of the column's values the patient has is not known: none of them is zero.
    void miss(std::size_t n, std::size_t c, std::uint32_t patient) {
        all_.modes[n].columns[c].without.push_back(patient);
    }

    void count_kind(OpenColumn& column, std::string_view text) const {
        ++column.filled;
        if (is_some_date(text)) ++column.dates;
        if (!is_padded(text) && is_number_cell(text, options_.decimal)) {
            ++column.numbers;
            return;
        }
        if (column.texts++ == 0) column.first_text = text;
        // Zeros in front have said that these are codes, whatever the others look like.
        if (is_padded(text)) column.texts = std::numeric_limits<Index>::max() / 2;
    }

    /// In whatever order: whoever did not say that a column holds dates did not say in which.
    static bool is_some_date(std::string_view text) {
        constexpr DateOrder orders[] = {DateOrder::iso, DateOrder::day_first, DateOrder::month_first};
        return std::ranges::any_of(orders, [&](DateOrder order) { return parse_date(text, order).has_value(); });
    }

    WideColumn::Kind detect(std::string_view text) const {
        const bool number = !is_padded(text) && is_number_cell(text, options_.decimal);
        return number ? WideColumn::Kind::number : WideColumn::Kind::category;
    }

    double days_since(const std::vector<std::string_view>& row, const OpenColumn& column) const {
        const bool known = !is_missing(cell(row, column.at)) && (column.from || !is_missing(cell(row, column.since)));
        if (!known) return std::numeric_limits<double>::quiet_NaN();
        const std::int64_t from = column.from ? *column.from : date_cell(reader_, row, column.since, options_.dates);
        return static_cast<double>(date_cell(reader_, row, column.at, options_.dates) - from);
    }

    void add(std::size_t n, std::size_t c, const std::string& code, std::uint32_t patient, double value) {
        FoundMode& mode = all_.modes[n];
        const auto known = static_cast<Index>(mode.book.codes.size());
        const auto [number, facts] = mode.book.at(code);
        if (static_cast<Index>(mode.book.codes.size()) == known && facts->group != static_cast<Index>(c)) {
            reader_.refuse(columns_[n][c].at, shown(code) + ", which is another column's, too", "a name of its own",
                           "Rename one of the columns, or leave it out of `modes`.");
        }
        facts->group = static_cast<Index>(c);
        facts->unit = columns_[n][c].unit;
        if (value == value) ++facts->events;
        if (static_cast<Index>(mode.book.codes.size()) > options_.most_codes) {
            reader_.refuse(columns_[n][c].at, fmt::format("more than {} different values", options_.most_codes),
                           "a column of numbers or of few categories", "Name the columns that count in `modes`.");
        }
        if (value != 0) all_.blocks[n].cells.add({.patient = patient, .codes = {number}}, value, 0);
    }

    Gathered& all_;
    RecordReader& reader_;
    const TableOptions& options_;
    std::vector<Index>& lines_;
    Index patient_ = 0;
    std::vector<std::vector<OpenColumn>> columns_;  ///< of each mode
};

}  // namespace

Gathered gather_wide(std::span<const TableInput> tables, const TableOptions& options,
                     const std::filesystem::path& folder, const ProgressSink& progress) {
    Gathered all{.in_order = true, .rule = CellRule::sum};
    std::vector<WideMode> modes;
    for (const std::string& text : options.modes) modes.push_back(parse_wide_mode(text));
    if (modes.empty()) modes.push_back({.name = "feature"});
    require_tables("`patient`", options.patient, tables);
    for (const WideMode& mode : modes) {
        const auto same = [&](const FoundMode& other) { return other.name == mode.name; };
        if (std::any_of(all.modes.begin(), all.modes.end(), same)) {
            throw InputError({"`modes`", "two modes called " + shown(mode.name), "names that differ",
                              "Write NAME=COLUMN,... for each of them."});
        }
        all.modes.push_back({.name = mode.name, .kind = TermKind::columns});
        all.blocks.push_back({{all.blocks.size()}, CellStore(all.rule, folder)});
    }
    std::vector<Index> lines;
    for (const TableInput& table : tables) {
        const auto reader = table.open({});
        all.tables.push_back(reader->name());
        all.records.push_back(WideReader(all, *reader, table.name, modes, options, lines).read(progress));
        if (all.records.back() == 0) {
            throw InputError({reader->name(), "no rows", "at least one patient", "Check how the table was exported."});
        }
    }
    for (Block& block : all.blocks) block.cells.close();
    return all;
}

}  // namespace couplet
