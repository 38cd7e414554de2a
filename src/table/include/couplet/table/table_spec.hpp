#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/table/dates.hpp"
#include "couplet/table/records.hpp"

namespace couplet {

/// A column of one of several tables.
struct ColumnRef {
    std::string table = {};  ///< empty: of the only table, or of every table that has it
    std::string column = {};
};
/// "[TABLE:]COLUMN".
ColumnRef parse_column_ref(std::string_view text);

/// A feature mode that a table of events gives: one of its columns.
struct EventMode {
    std::string name = {};
    std::string table = {};  ///< empty: of the only table
    std::string column = {};
    std::string label_column = {};    ///< what people call the codes; empty: there is none
    std::optional<TimeBin> bin = {};  ///< the column holds dates
    friend bool operator==(const EventMode&, const EventMode&) = default;
};
/// "[NAME=][TABLE:]COLUMN[/LABELS][@BIN]"; the name is that of the column in lower case where none is given. Throws
/// InputError for anything else.
EventMode parse_event_mode(std::string_view text);

/// A column of a wide table and what becomes of it.
struct WideColumn {
    enum class Kind {
        detect,  ///< a number when the first cell that is not empty is one, a category otherwise
        number,
        category,  ///< one entry for each value
        bin,       ///< a date: one entry for each bin
        since,     ///< a date: the days since another
    };
    std::string column = {};
    Kind kind = Kind::detect;
    TimeBin bin = TimeBin::year;
    std::string since = {};  ///< a column of dates, or a date
    friend bool operator==(const WideColumn&, const WideColumn&) = default;
};
struct WideMode {
    std::string name = {};
    std::vector<WideColumn> columns = {};  ///< empty: all but the patient
};
/// "[NAME=]COLUMN[:KIND],COLUMN[:KIND],..." with KIND number, category, day, week, month, quarter, year or
/// since=COLUMN_OR_DATE. "NAME=*" stands for all columns. Throws InputError for anything else.
WideMode parse_wide_mode(std::string_view text);

/// Columns of a table whose form is known by name, so that nobody has to spell them.
struct KnownForm {
    std::string mode = {};  ///< "condition"
    std::string patient = {};
    std::string code = {};
    std::string label = {};
    std::string time = {};
    std::string value = {};
    std::string unit = {};
    std::string unmapped = {};  ///< a code, or a unit, that says that there is none
    std::string system = {};    ///< the code list of a code
};
/// FHIR resources, OMOP tables (condition_occurrence, drug_exposure, procedure_occurrence, measurement, observation)
/// and the csv files of Synthea, by their columns; nothing for other tables.
std::optional<KnownForm> known_form(const RecordReader& reader);

}  // namespace couplet
