#include "gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/fhir.hpp"

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

/// How one table of events is read: its columns, and the modes of its block.
struct EventPlan {
    std::vector<EventMode> modes = {};
    std::string patient = {};
    std::string value = {};
    std::string unit = {};
    std::string time = {};
    std::string unmapped = {};
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
            throw InputError({"--modes", mode.table.empty() ? shown(text) : "a table " + shown(mode.table),
                              fmt::format("one of the tables {}", fmt::join(names, ", ")),
                              "Write TABLE:COLUMN; a table has the name of its file without endings."});
        }
        order.push_back(mode.name);
        modes[mode.table].push_back(std::move(mode));
    }
    for (const std::string& name : names) {
        if (options.modes.empty() || modes.contains(name)) continue;
        throw InputError({"--modes", "no mode from the table " + shown(name), "at least one from every table",
                          "Name a column of it, or leave the table out."});
    }
    for (const auto& [table, list] : modes) {
        if (list.size() > most_event_modes) {
            throw InputError({"--modes", fmt::format("{} modes from the table {}", list.size(), table),
                              fmt::format("at most {} from one table", most_event_modes), ""});
        }
    }
    if (std::set<std::string>(order.begin(), order.end()).size() != order.size()) {
        throw InputError({"--modes", "two modes of one name", "names that differ", "Write NAME=COLUMN."});
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
    want(column_for({options.patient}, table));
    for (const EventMode& mode : modes) {
        want(mode.column);
        want(mode.label_column);
    }
    want(column_for(options.values, table));
    want(column_for(options.units, table));
    want(column_for(options.times, table));
    return wanted;
}

EventPlan make_plan(const RecordReader& reader, const std::vector<EventMode>& asked, const TableOptions& options,
                    const std::string& table) {
    const auto form = known_form(reader);
    EventPlan plan{.modes = asked,
                   .patient = column_for({options.patient}, table),
                   .value = column_for(options.values, table),
                   .unit = column_for(options.units, table),
                   .time = column_for(options.times, table)};
    if (form) {
        if (plan.modes.empty()) plan.modes.push_back({form->mode, table, form->code, form->label, {}});
        if (plan.patient.empty()) plan.patient = form->patient;
        if (plan.value.empty()) {
            plan.value = form->value;
            if (plan.unit.empty()) plan.unit = form->unit;
        }
        if (plan.time.empty()) plan.time = form->time;
        const bool own_code = plan.modes.front().column == form->code;
        if (own_code) plan.unmapped = form->unmapped;
    }
    if (plan.modes.empty() || plan.patient.empty()) {
        throw InputError({reader.name(), plan.modes.empty() ? "a table of no known form" : "no column of the patients",
                          "--patient COLUMN and --modes COLUMN ...",
                          "FHIR, OMOP and Synthea tables are known; of others say which columns count."});
    }
    return plan;
}

/// Positions of the columns of a plan; -1: there is none.
struct EventColumns {
    Index patient = -1, value = -1, unit = -1, time = -1;
    std::vector<Index> codes, labels;

    EventColumns(const RecordReader& reader, const EventPlan& plan, bool with_value, bool with_time) {
        const auto find = [&](const std::string& name) { return name.empty() ? Index{-1} : reader.column(name); };
        patient = find(plan.patient);
        if (with_value) value = find(plan.value);
        if (with_value) unit = find(plan.unit);
        if (with_time) time = find(plan.time);
        for (const EventMode& mode : plan.modes) {
            codes.push_back(find(mode.column));
            labels.push_back(find(mode.label_column));
        }
    }
};

std::string_view cell(const std::vector<std::string_view>& row, Index column) {
    return column < 0 ? std::string_view() : row[static_cast<std::size_t>(column)];
}

std::int64_t date_cell(const RecordReader& reader, const std::vector<std::string_view>& row, Index column,
                       DateOrder order) {
    const std::string_view text = cell(row, column);
    if (const auto day = parse_date(text, order)) return *day;
    reader.refuse(column, shown(text), "a date that exists, like 2024-03-31",
                  order == DateOrder::iso ? "For 31.3.2024 or 3/31/2024 use --dates day-first or month-first."
                                          : "Years have four digits.");
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
          columns_(reader, plan, takes_value(all.rule), all.rule == CellRule::last) {}

    static bool takes_value(CellRule rule) {
        return rule == CellRule::sum || rule == CellRule::mean || rule == CellRule::last;
    }

    Index read(const ProgressSink& progress) {
        if (takes_value(all_.rule) && columns_.value < 0) {
            throw InputError({"--aggregate", fmt::format("{} of {}", to_string(all_.rule), reader_.name()),
                              "a column with values", "Name it with --value, or use presence or count."});
        }
        Index records = 0;
        for (std::vector<std::string_view> row; reader_.next(row);) {
            take(row, static_cast<double>(records));
            if (++records % report_every == 0) {
                check_stop();
                report(progress, "records", records, 0);
            }
        }
        return records;
    }

  private:
    void take(const std::vector<std::string_view>& row, double place) {
        const std::string_view id = cell(row, columns_.patient);
        if (id.empty()) reader_.refuse(columns_.patient, "no patient", "an identifier", "");
        double value = 1;
        if (columns_.value >= 0) {
            if (cell(row, columns_.value).empty()) return;  // an event without a value says nothing of it
            value = number_cell(reader_, columns_.value, cell(row, columns_.value), options_.decimal);
        }
        CellKey key{.patient = all_.patients.find_or_add(id).number};
        for (std::size_t n = 0; n < plan_.modes.size(); ++n) {
            key.codes[n] = code(row, n);
        }
        const double time =
            columns_.time < 0 ? place : static_cast<double>(date_cell(reader_, row, columns_.time, options_.dates));
        block_.cells.add(key, value, time);
    }

    std::uint32_t code(const std::vector<std::string_view>& row, std::size_t n) {
        FoundMode& mode = all_.modes[block_.modes[n]];
        const Index column = columns_.codes[n];
        std::string_view text = cell(row, column);
        if (text.empty()) reader_.refuse(column, "no code", "a code", "Take such events out of the table.");
        std::string bin;
        if (mode.bin) {
            bin = bin_label(bin_of(date_cell(reader_, row, column, options_.dates), *mode.bin), *mode.bin);
            text = bin;
        }
        const auto [number, facts] = mode.book.at(text);
        if (facts->events++ == 0) {
            facts->label = cell(row, columns_.labels[n]);
            if (static_cast<Index>(mode.book.codes.size()) > options_.most_codes) {
                reader_.refuse(column, fmt::format("more than {} different codes", options_.most_codes),
                               "a column that holds codes of a list",
                               "Name another column in --modes, or raise --max-codes.");
            }
        }
        if (n == 0 && columns_.unit >= 0) check_unit(row, *facts, text);
        return number;
    }

    void check_unit(const std::vector<std::string_view>& row, CodeFacts& facts, std::string_view code_text) {
        const std::string_view unit = cell(row, columns_.unit);
        if (unit.empty() || unit == facts.unit) return;
        if (facts.unit.empty()) {
            facts.unit = unit;
            return;
        }
        reader_.refuse(columns_.unit, fmt::format("{} of {}", shown(unit), shown(code_text)),
                       shown(facts.unit) + " as in the events before", "Convert the values to one unit first.");
    }

    Gathered& all_;
    Block& block_;
    RecordReader& reader_;
    const EventPlan& plan_;
    const TableOptions& options_;
    EventColumns columns_;
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

Gathered gather_events(std::span<const TableInput> tables, const TableOptions& options,
                       const std::filesystem::path& folder, const ProgressSink& progress) {
    Gathered all;
    std::vector<std::string> order;
    const auto asked = asked_modes(tables, options, order);
    for (const std::string& name : order) all.modes.push_back({.name = name});
    bool ruled = false;
    for (const TableInput& table : tables) {
        const auto given = asked.find(table.name);
        const std::vector<EventMode> modes = given == asked.end() ? std::vector<EventMode>{} : given->second;
        const auto reader = table.open(wanted_columns(modes, options, table.name));
        const EventPlan plan = make_plan(*reader, modes, options, table.name);
        if (!ruled) {
            const bool valued = !plan.value.empty();
            all.rule = options.rule.value_or(valued ? CellRule::mean : CellRule::presence);
            ruled = true;
        }
        Block& block = block_for(all, plan, folder, table.name);
        all.tables.push_back(reader->name());
        all.records.push_back(EventReader(all, block, *reader, plan, options).read(progress));
        all.withdrawn += withdrawn_in(*reader);
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
};

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
    WideReader(Gathered& all, RecordReader& reader, const std::vector<WideMode>& modes, const TableOptions& options,
               std::vector<Index>& first_lines)
        : all_(all), reader_(reader), options_(options), lines_(first_lines) {
        const std::string patient = column_for({options.patient}, table_name(reader.name()));
        if (patient.empty()) {
            throw InputError({"--patient", "none", "the column with the patients' identifiers", ""});
        }
        patient_ = wide_column(reader, patient);
        for (const WideMode& mode : modes) columns_.push_back(open_mode(mode));
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
        return records;
    }

  private:
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
            std::tie(column.label, column.unit) = split_unit(reader_.columns()[static_cast<std::size_t>(column.at)]);
            if (spec.kind == WideColumn::Kind::since) {
                column.from = parse_date(spec.since, options_.dates);
                if (!column.from) column.since = wide_column(reader_, spec.since);
                column.unit = "days";
            }
            open.push_back(std::move(column));
        }
        return open;
    }

    void take(const std::vector<std::string_view>& row) {
        const std::string_view id = cell(row, patient_);
        if (id.empty()) reader_.refuse(patient_, "no patient", "an identifier", "");
        const auto found = all_.patients.find_or_add(id);
        if (!found.fresh) {
            reader_.refuse(patient_, "the patient " + shown(id) + " again",
                           fmt::format("every patient once; the first time was on line {}", lines_[found.number]),
                           "Tables with several rows per patient are read as events, without --wide.");
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
        if (column.spec.kind == Kind::detect && !text.empty()) column.spec.kind = detect(text);
        switch (column.spec.kind) {
            case Kind::detect:
                return add(n, c, column.label, patient, std::numeric_limits<double>::quiet_NaN());
            case Kind::number:
                return add(n, c, column.label, patient, number_cell(reader_, column.at, text, options_.decimal));
            case Kind::since:
                return add(n, c, column.label, patient, days_since(row, column));
            case Kind::category:
                if (!text.empty()) add(n, c, fmt::format("{}={}", column.label, text), patient, 1);
                return;
            case Kind::bin:
                if (text.empty()) return;
                const std::int64_t day = date_cell(reader_, row, column.at, options_.dates);
                return add(n, c,
                           fmt::format("{}={}", column.label, bin_label(bin_of(day, column.spec.bin), column.spec.bin)),
                           patient, 1);
        }
    }

    WideColumn::Kind detect(std::string_view text) const {
        try {
            number_cell(reader_, 0, text, options_.decimal);
            return WideColumn::Kind::number;
        } catch (const InputError&) {
            return WideColumn::Kind::category;
        }
    }

    double days_since(const std::vector<std::string_view>& row, const OpenColumn& column) const {
        const bool known = !cell(row, column.at).empty() && (column.from || !cell(row, column.since).empty());
        if (!known) return std::numeric_limits<double>::quiet_NaN();
        const std::int64_t from = column.from ? *column.from : date_cell(reader_, row, column.since, options_.dates);
        return static_cast<double>(date_cell(reader_, row, column.at, options_.dates) - from);
    }

    void add(std::size_t n, std::size_t c, const std::string& code, std::uint32_t patient, double value) {
        FoundMode& mode = all_.modes[n];
        const auto [number, facts] = mode.book.at(code);
        facts->group = static_cast<Index>(c);
        facts->unit = columns_[n][c].unit;
        if (value == value) ++facts->events;
        if (static_cast<Index>(mode.book.codes.size()) > options_.most_codes) {
            reader_.refuse(columns_[n][c].at, fmt::format("more than {} different values", options_.most_codes),
                           "a column of numbers or of few categories", "Name the columns that count in --modes.");
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
    for (const WideMode& mode : modes) {
        all.modes.push_back({.name = mode.name, .kind = TermKind::columns});
        all.blocks.push_back({{all.blocks.size()}, CellStore(all.rule, folder)});
    }
    std::vector<Index> lines;
    for (const TableInput& table : tables) {
        const auto reader = table.open({});
        all.tables.push_back(reader->name());
        all.records.push_back(WideReader(all, *reader, modes, options, lines).read(progress));
        if (all.records.back() == 0) {
            throw InputError({reader->name(), "no rows", "at least one patient", "Check how the table was exported."});
        }
    }
    for (Block& block : all.blocks) block.cells.close();
    return all;
}

}  // namespace couplet
