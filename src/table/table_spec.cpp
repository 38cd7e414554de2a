#include "couplet/table/table_spec.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/fhir.hpp"

namespace couplet {
namespace {

constexpr const char* event_remedy = "Write [NAME=][TABLE:]COLUMN[/LABELS][@day|week|month|quarter|year].";
constexpr const char* wide_remedy =
    "Write [NAME=]COLUMN[:KIND],... with KIND number, category, day, week, month, quarter, year or since=DATE.";

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

/// Cuts "NAME=" off the front; empty where there is none.
std::string take_name(std::string_view& text) {
    const std::size_t equals = text.find('=');
    // "COLUMN:since=..." has its sign behind a colon.
    if (equals == std::string_view::npos || text.substr(0, equals).find(':') != std::string_view::npos) return {};
    const std::string name(text.substr(0, equals));
    if (name.find(',') != std::string::npos) {
        throw InputError({"`modes`", shown(text), "the name of a mode once, before all of its columns",
                          "Write NAME=COLUMN,COLUMN,... and one `modes` for each mode."});
    }
    text.remove_prefix(equals + 1);
    return name;
}

[[noreturn]] void refuse_mode(std::string_view text, const std::string& expected, const char* remedy) {
    throw InputError({"`modes`", shown(text), expected, remedy});
}

WideColumn parse_wide_column(std::string_view text, std::string_view whole) {
    const std::size_t colon = text.rfind(':');
    WideColumn column{.column = std::string(text.substr(0, colon))};
    if (column.column.empty()) refuse_mode(whole, "a column between the commas", wide_remedy);
    if (colon == std::string_view::npos) return column;
    const std::string_view kind = text.substr(colon + 1);
    constexpr std::string_view since = "since=";
    if (kind == "number") {
        column.kind = WideColumn::Kind::number;
    } else if (kind == "category") {
        column.kind = WideColumn::Kind::category;
    } else if (const auto bin = parse_bin(kind)) {
        column.kind = WideColumn::Kind::bin;
        column.bin = *bin;
    } else if (kind.starts_with(since) && kind.size() > since.size()) {
        column.kind = WideColumn::Kind::since;
        column.since = std::string(kind.substr(since.size()));
    } else {
        refuse_mode(whole, "a kind of column after the colon, not " + shown(kind), wide_remedy);
    }
    return column;
}

/// Columns of OMOP tables begin with the name of what they hold.
struct OmopTable {
    std::string_view prefix;  ///< of the concept's column
    std::string_view date;
    std::string_view mode;
};
constexpr std::array<OmopTable, 5> omop_tables{{
    {"condition", "condition_start_date", "condition"},
    {"drug", "drug_exposure_start_date", "medication"},
    {"procedure", "procedure_date", "procedure"},
    {"measurement", "measurement_date", "measurement"},
    {"observation", "observation_date", "observation"},
}};

/// The column of that name in whatever case; empty where there is none.
std::string spelled(const RecordReader& reader, std::string_view name) {
    const auto& columns = reader.columns();
    const auto at = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return lower(one) == name; });
    return at == columns.end() ? std::string() : *at;
}

std::optional<KnownForm> omop_form(const RecordReader& reader) {
    KnownForm form{.patient = spelled(reader, "person_id"), .unmapped = "0"};
    if (form.patient.empty()) return std::nullopt;
    for (const OmopTable& table : omop_tables) {
        form.code = spelled(reader, std::string(table.prefix) + "_concept_id");
        if (form.code.empty()) continue;
        form.mode = table.mode;
        form.time = spelled(reader, table.date);
        form.value = spelled(reader, "value_as_number");
        form.unit = spelled(reader, "unit_concept_id");
        return form;
    }
    return std::nullopt;
}

/// "conditions" is a table of conditions.
std::string singular(std::string name) {
    name = lower(name);
    if (name.ends_with("ies")) return name.substr(0, name.size() - 3) + "y";
    if (name.ends_with("s") && !name.ends_with("ss")) name.pop_back();
    return name;
}

std::optional<KnownForm> synthea_form(const RecordReader& reader) {
    KnownForm form{
        .mode = singular(table_name(reader.name())), .patient = "PATIENT", .code = "CODE", .label = "DESCRIPTION"};
    for (const std::string& column : {form.patient, form.code, form.label}) {
        if (!reader.has_column(column)) return std::nullopt;
    }
    for (const char* time : {"START", "DATE"}) {
        if (form.time.empty() && reader.has_column(time)) form.time = time;
    }
    if (reader.has_column("VALUE") && reader.has_column("UNITS")) {
        form.value = "VALUE";
        form.unit = "UNITS";
    }
    return form;
}

}  // namespace

ColumnRef parse_column_ref(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return {.column = std::string(text)};
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

EventMode parse_event_mode(std::string_view text) {
    std::string_view rest = text;
    EventMode mode{.name = take_name(rest)};
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
        mode.bin = parse_bin(rest.substr(at + 1));
        if (!mode.bin) refuse_mode(text, "day, week, month, quarter or year after @", event_remedy);
        rest = rest.substr(0, at);
    }
    if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
        mode.label_column = std::string(rest.substr(slash + 1));
        rest = rest.substr(0, slash);
        if (mode.label_column.empty()) refuse_mode(text, "a column of labels after /", event_remedy);
    }
    ColumnRef ref = parse_column_ref(rest);
    mode.table = std::move(ref.table);
    mode.column = std::move(ref.column);
    if (mode.column.empty()) refuse_mode(text, "a column", event_remedy);
    if (mode.name.empty()) mode.name = lower(mode.column);
    return mode;
}

WideMode parse_wide_mode(std::string_view text) {
    std::string_view rest = text;
    WideMode mode{.name = take_name(rest)};
    if (mode.name.empty()) mode.name = "feature";
    if (rest == "*") return mode;
    for (;;) {
        const std::size_t comma = rest.find(',');
        mode.columns.push_back(parse_wide_column(rest.substr(0, comma), text));
        if (comma == std::string_view::npos) return mode;
        rest.remove_prefix(comma + 1);
    }
}

std::optional<KnownForm> known_form(const RecordReader& reader) {
    if (const auto* fhir = dynamic_cast<const FhirReader*>(&reader)) {
        return KnownForm{.mode = fhir_mode_name(fhir->resource()),
                         .patient = "patient",
                         .code = "code",
                         .label = "display",
                         .time = "date",
                         .value = fhir->resource() == "Observation" ? "value" : "",
                         .unit = fhir->resource() == "Observation" ? "unit" : "",
                         .system = "system"};
    }
    if (auto form = omop_form(reader)) return form;
    return synthea_form(reader);
}

}  // namespace couplet
