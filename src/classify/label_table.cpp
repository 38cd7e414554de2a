#include "couplet/classify/label_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/client_folder.hpp"
#include "couplet/io/line_reader.hpp"
#include "couplet/io/npy_header.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/records.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

constexpr std::array patient_names{"patient", "patient_id", "person_id", "subject_id", "identifier", "id"};
constexpr std::array label_names{"label", "class", "target", "outcome"};
constexpr std::array missing_words{"", "na", "n/a", "nan", "null", ".", "?"};
constexpr const char* own_columns_remedy =
    "Name it with `label_column`, and the one of the identifiers with `id_column`.";

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return result;
}

template <class Names>
bool is_one_of(std::string_view text, const Names& names) {
    return std::find(names.begin(), names.end(), lower(text)) != names.end();
}

/// Digits with at most a sign before and a point among them, few enough for different numbers to stay different, and
/// no zeros before the first: 01, 1E2 and the eighteen digits of a SNOMED code are names that happen to be digits.
bool is_plain_number(std::string_view text) {
    constexpr std::size_t exact_digits = 15;
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto digits = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_digit));
    const auto points = static_cast<std::size_t>(std::count(text.begin(), text.end(), '.'));
    const bool padded = text.size() > 1 && text[0] == '0' && is_digit(text[1]);
    return digits > 0 && digits <= exact_digits && points <= 1 && digits + points == text.size() && !padded;
}

/// The value of a label that is a plain number.
std::optional<double> number_of(std::string_view text) {
    double value = 0;
    if (!is_plain_number(text) || parse_number(text, value) != NumberText::number) return {};
    return value + 0.0;  // -0 is 0
}

/// Where a class stands, equal for labels of one class: numbers by their value, then text.
struct ClassKey {
    std::optional<double> number;
    std::string text;  ///< of what is no number

    explicit ClassKey(const std::string& label) : number(number_of(label)), text(number ? "" : label) {}
    bool operator<(const ClassKey& other) const {
        if (number && other.number) return *number < *other.number;
        if (number || other.number) return number.has_value();
        return text < other.text;
    }
};

LabelTable read_array(const fs::path& file) {
    LabelTable table{.source = file.string(), .alone = true};
    const NpyHeader header = read_npy_header(file);
    if (header.shape.order() == 1 && (header.descr == "<f8" || header.descr == "<f4")) {
        const Tensor<double> values = open_tensor(file).take<double>();
        for (const double value : values.elements()) {
            if (std::isinf(value)) throw InputError({file.string(), "infinity", "numbers of classes, or NaN", ""});
            table.values.push_back(std::isnan(value) ? "" : fmt::format("{}", value));
        }
        return table;
    }
    for (const std::int64_t label : read_labels(file)) table.values.push_back(std::to_string(label));
    return table;
}

bool names_patients(const std::vector<std::string>& columns) {
    return std::any_of(columns.begin(), columns.end(), [](const auto& name) { return is_one_of(name, patient_names); });
}

/// What to say of the columns: their names where the first line surely has names. It may be a patient's.
std::string listed(const std::vector<std::string>& columns) {
    constexpr std::size_t most = 12;
    if (!names_patients(columns)) return fmt::format("{} columns without a known name", columns.size());
    std::string all;
    for (std::size_t i = 0; i < std::min(most, columns.size()); ++i) all += (i > 0 ? ", " : "") + shown(columns[i]);
    return "columns " + all + (columns.size() > most ? ", ..." : "");
}

/// The column of a name that was given.
Index named_column(const RecordReader& reader, const char* option, const std::string& name) {
    const auto count = std::count(reader.columns().begin(), reader.columns().end(), name);
    if (count == 1) return reader.column(name);
    throw InputError({reader.name(),
                      fmt::format("{} column {} in the first line, which has {}", count == 0 ? "no" : "more than one",
                                  shown(name), listed(reader.columns())),
                      "one column of that name", fmt::format("Spell {} as in the first line.", option)});
}

Index choose_patient(const RecordReader& reader, const LabelColumns& columns) {
    if (!columns.patient.empty()) return named_column(reader, "`id_column`", columns.patient);
    std::vector<Index> found;
    for (std::size_t c = 0; c < reader.columns().size(); ++c) {
        const std::string& name = reader.columns()[c];
        if (name != columns.label && is_one_of(name, patient_names)) found.push_back(static_cast<Index>(c));
    }
    if (found.size() > 1) {
        throw InputError({reader.name(), "several columns of identifiers in " + listed(reader.columns()),
                          "one that is meant", "Name it with `id_column`."});
    }
    return found.empty() ? -1 : found.front();
}

Index choose_label(const RecordReader& reader, const LabelColumns& columns, Index patient) {
    if (!columns.label.empty()) return named_column(reader, "`label_column`", columns.label);
    std::vector<Index> others;
    std::vector<Index> named;
    for (std::size_t c = 0; c < reader.columns().size(); ++c) {
        const auto at = static_cast<Index>(c);
        if (at == patient || lower(reader.columns()[c]) == "row") continue;
        others.push_back(at);
        if (is_one_of(reader.columns()[c], label_names)) named.push_back(at);
    }
    if (others.size() == 1) return others.front();
    if (named.size() == 1) return named.front();
    throw InputError({reader.name(), listed(reader.columns()), "one that is clearly the label, named in the first line",
                      own_columns_remedy});
}

/// -1: the table has no rows to go by.
Index choose_row(const RecordReader& reader, Index label, Index patient) {
    for (std::size_t c = 0; c < reader.columns().size(); ++c) {
        const auto at = static_cast<Index>(c);
        if (at != label && at != patient && lower(reader.columns()[c]) == "row") return at;
    }
    return -1;
}

/// Identifiers tell people apart.
class Identifiers {
  public:
    explicit Identifiers(const RecordReader& reader, Index column) : reader_(reader), column_(column) {}
    void add(std::string_view cell, std::vector<std::string>& all) {
        if (cell.empty()) reader_.refuse(column_, "no identifier", "one in every line", "Leave such lines out.");
        const auto [first, is_new] = seen_.try_emplace(std::string(cell), reader_.line());
        if (!is_new) {
            reader_.refuse(column_, fmt::format("the identifier of line {}", first->second), "every patient once",
                           "Keep one line per patient.");
        }
        all.emplace_back(cell);
    }

  private:
    const RecordReader& reader_;
    Index column_;
    std::map<std::string, Index> seen_;
};

std::string value_of(std::string_view cell) { return is_one_of(cell, missing_words) ? "" : std::string(cell); }

/// The columns of a file of JSON objects, which their reader must be told: those of the first. Nothing: another file.
std::optional<std::vector<std::string>> json_columns(const fs::path& file) {
    const std::string name = lower(file.filename().string());
    if (name.find(".ndjson") == std::string::npos && name.find(".jsonl") == std::string::npos) return {};
    std::vector<std::string> columns;
    LineReader lines(file);
    for (std::string_view line; lines.next(line);) {
        if (trimmed(line).empty()) continue;
        const auto object = nlohmann::json::parse(line, nullptr, false);
        for (const auto& [key, value] : object.items()) {
            if (object.is_object() && !value.is_structured()) columns.push_back(key);
        }
        break;
    }
    return columns;
}

/// A column `row` says which row of the tensor a line is about, from 1.
Index row_of(const RecordReader& reader, Index column, std::string_view cell) {
    const auto number = number_of(cell);
    if (!number || *number < 1 || *number > 1e15 || *number != std::floor(*number)) {
        reader.refuse(column, "no number of a row", "1, 2, ..., the row of the tensor",
                      "Rename the column, or leave it out.");
    }
    return static_cast<Index>(*number);
}

LabelTable read_records(const fs::path& file, const LabelColumns& columns) {
    std::vector<std::string> wanted;
    for (const std::string& name : {columns.label, columns.patient}) {
        if (!name.empty()) wanted.push_back(name);
    }
    const auto json = json_columns(file);
    for (const std::string& name : json.value_or(std::vector<std::string>{})) {
        if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
    }
    auto reader = open_records(file, {}, wanted);
    Index patient = choose_patient(*reader, columns);
    Index label = choose_label(*reader, columns, patient);
    Index row = choose_row(*reader, label, patient);
    LabelTable table{.source = file.string(), .alone = reader->columns().size() == 1};
    if (json) {  // what is not asked for may hold anything
        const auto name = [&](Index at) { return reader->columns()[static_cast<std::size_t>(at)]; };
        std::vector<std::string> chosen{name(label)};
        if (patient >= 0) chosen.push_back(name(patient));
        if (row >= 0) chosen.push_back(name(row));
        row = row < 0 ? -1 : static_cast<Index>(chosen.size()) - 1;
        patient = patient < 0 ? -1 : 1;
        label = 0;
        reader = open_records(file, {}, chosen);
    }
    Identifiers identifiers(*reader, patient);
    for (std::vector<std::string_view> cells; reader->next(cells);) {
        table.values.push_back(value_of(cells[static_cast<std::size_t>(label)]));
        if (patient >= 0) identifiers.add(cells[static_cast<std::size_t>(patient)], table.patients);
        if (row >= 0) table.rows.push_back(row_of(*reader, row, cells[static_cast<std::size_t>(row)]));
    }
    return table;
}

/// A line of a file of one column, without its quotes; two of them inside stand for one.
std::string plain_cell(std::string_view line) {
    line = trimmed(line);
    if (line.size() < 2 || line.front() != '"' || line.back() != '"') return std::string(line);
    line = line.substr(1, line.size() - 2);
    std::string cell;
    for (std::size_t i = 0; i < line.size(); ++i) {
        cell += line[i];
        if (line.substr(i, 2) == "\"\"") ++i;
    }
    return cell;
}

/// One label a line, an empty line being a person without one. The first line is a header where it says so, and where
/// it is a word that no other line has; a number is a label.
LabelTable read_column(const fs::path& file, const LabelColumns& columns, Index rows) {
    std::vector<std::string> lines;
    LineReader reader(file);
    for (std::string_view line; reader.next(line);) lines.push_back(plain_cell(line));
    const auto others = lines.begin() + 1;
    const std::string& first = lines.front();
    const bool named = columns.label.empty() ? is_one_of(first, label_names) : first == columns.label;
    const bool alone_of_its_kind = std::find(others, lines.end(), first) == lines.end();
    const bool header_like = named || (alone_of_its_kind && !number_of(first) && !is_one_of(first, missing_words));
    const auto count = [&] { return static_cast<Index>(lines.size()); };
    while (count() > rows + (header_like ? 1 : 0) && count() > 1 && lines.back().empty()) lines.pop_back();
    if (header_like && !named && count() == rows + 1 && lines.back().empty()) {
        throw InputError({file.string(), "a first line, " + shown(first) + ", that may be a header or a label",
                          "a file that ends with its last label, or a header that is named",
                          "Take the empty line at its end away, or name the header with `label_column`."});
    }
    LabelTable table{.source = file.string(), .alone = true};
    for (std::size_t i = header_like ? 1 : 0; i < lines.size(); ++i) table.values.push_back(value_of(lines[i]));
    return table;
}

}  // namespace

LabelTable read_label_table(const fs::path& file, const LabelColumns& columns, Index rows) {
    if (file.extension() == ".npy") return read_array(file);
    LabelTable table = read_records(file, columns);
    if (!table.alone || !table.patients.empty() || json_columns(file)) return table;
    return read_column(file, columns, rows);
}

std::vector<std::string> read_patients(const fs::path& file, Index rows) {
    const auto reader = open_records(file, {});
    if (!reader->has_column("patient")) {  // the first line may be a patient's
        throw InputError({file.string(), "no column patient in its first line",
                          "row,patient as couplet table writes it", "Make it anew with couplet table."});
    }
    const Index column = reader->column("patient");
    Identifiers identifiers(*reader, column);
    std::vector<std::string> patients;
    for (std::vector<std::string_view> row; reader->next(row);) {
        identifiers.add(row[static_cast<std::size_t>(column)], patients);
    }
    if (static_cast<Index>(patients.size()) != rows) {
        throw InputError({file.string(), fmt::format("{} patients", patients.size()),
                          fmt::format("{}, one per row of the tensor beside it", rows),
                          "Make both anew with couplet table."});
    }
    return patients;
}

namespace {

/// By the rows that the table names.
SiteLabels placed_labels(const LabelTable& table, const std::string& site, std::vector<std::string> patients,
                         Index rows) {
    const auto count = static_cast<std::size_t>(rows);
    SiteLabels labels{std::vector<std::string>(count), std::move(patients)};
    const bool own_names = labels.patients.empty() && table.rows.size() == count;
    if (own_names && !table.patients.empty()) labels.patients.resize(count);
    std::vector<bool> there(count, false);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const Index row = table.rows[i];
        if (row > rows || there[static_cast<std::size_t>(row - 1)]) {
            throw InputError({table.source, fmt::format("row {}{}", row, row > rows ? "" : " twice"),
                              fmt::format("each of the {} rows of {} once", rows, site),
                              "The column row says which row of the tensor a label belongs to."});
        }
        const auto at = static_cast<std::size_t>(row - 1);
        there[at] = true;
        labels.values[at] = table.values[i];
        if (own_names && !table.patients.empty()) labels.patients[at] = table.patients[i];
    }
    return labels;
}

}  // namespace

SiteLabels match_labels(const LabelTable& table, const std::string& site, std::vector<std::string> patients,
                        Index rows) {
    if (patients.empty() || table.patients.empty()) {
        if (!table.rows.empty()) return placed_labels(table, site, std::move(patients), rows);
        if (!patients.empty() && !table.alone) {
            throw InputError({table.source, "no column of identifiers that is known by its name",
                              "the identifiers of patients.csv of " + site,
                              "Name the column with `id_column`, or give the labels alone, one for each row."});
        }
        if (static_cast<Index>(table.values.size()) != rows) {
            throw InputError({table.source, fmt::format("{} labels", table.values.size()),
                              fmt::format("{}, one per index of the first mode of {}", rows, site),
                              "Labels without identifiers belong to the rows in their order."});
        }
        const bool unchecked = patients.empty() && !table.patients.empty();
        return {table.values, patients.empty() ? table.patients : std::move(patients), unchecked};
    }
    std::map<std::string_view, std::size_t> line_of;
    for (std::size_t i = 0; i < table.patients.size(); ++i) line_of.emplace(table.patients[i], i);
    SiteLabels labels;
    Index found = 0;
    for (const std::string& patient : patients) {
        const auto line = line_of.find(patient);
        found += line == line_of.end() ? 0 : 1;
        labels.values.push_back(line == line_of.end() ? "" : table.values[line->second]);
    }
    if (found == 0) {
        throw InputError({table.source, fmt::format("none of the {} patients of {}", patients.size(), site),
                          "their identifiers, written as in patients.csv",
                          "Perhaps another column holds them: see `id_column`."});
    }
    labels.patients = std::move(patients);
    return labels;
}

Label ClassCoding::code(const std::string& value) const {
    if (value.empty()) return -1;
    const ClassKey key(value);
    const auto found = std::lower_bound(names.begin(), names.end(), key,
                                        [](const auto& name, const ClassKey& k) { return ClassKey(name) < k; });
    if (found == names.end() || key < ClassKey(*found)) {
        throw InputError({"labels", "one that is no class", "one of the classes", ""});
    }
    return found - names.begin();
}

ClassCoding code_classes(std::span<const std::string> values) {
    constexpr std::size_t usual_classes = 20;
    constexpr std::size_t most_classes = 100;
    std::map<ClassKey, std::string> spelled;
    std::size_t people = 0;
    for (const std::string& value : values) {
        if (value.empty()) continue;
        ++people;
        std::string& name = spelled.try_emplace(ClassKey(value), value).first->second;
        if (std::pair(value.size(), value) < std::pair(name.size(), name)) name = value;
    }
    ClassCoding coding;
    for (auto& [key, name] : spelled) coding.names.push_back(std::move(name));
    const std::size_t classes = coding.names.size();
    if (classes < 2) {
        throw InputError({"labels", people == 0 ? "none: all are missing" : "one class, " + shown(coding.names.front()),
                          "at least two", "Choose another column, or more people."});
    }
    if (classes > most_classes || (classes > usual_classes && classes > people / 2)) {
        throw InputError({"labels", fmt::format("{} classes among {} people", classes, people),
                          fmt::format("at most {}, with several people each", most_classes),
                          "This looks like a measurement or an identifier; choose another column, or make groups."});
    }
    return coding;
}

}  // namespace couplet
