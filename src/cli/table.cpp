#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/weighting.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/build.hpp"
#include "couplet/table/similar_codes.hpp"
#include "couplet/tensor/any_label.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "sizes.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct TableArguments {
    std::vector<std::string> files;
    TableOptions table;
    TextForm form;
    std::string separator = "auto";
    std::string decimal = "point";
    std::string encoding = "utf-8";
    std::string dates = "iso";
    std::string rule;
    std::string absent = "zero";
    std::string layout = "auto";
    std::string any = "auto";
    std::string schema;
    std::string concepts;
    std::string map;
    std::string top;
    bool no_header = false;
    std::string output;
};

/// "NAME=FILE" gives a table a name of its own.
std::pair<std::string, std::string> split_file(const std::string& text) {
    const std::size_t equals = text.find('=');
    std::error_code ignored;
    if (equals == std::string::npos || std::filesystem::exists(text, ignored)) return {"", text};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

char parse_separator(const std::string& text) {
    const std::map<std::string, char> words{{"auto", '\0'}, {"comma", ','}, {"semicolon", ';'},
                                            {"tab", '\t'},  {"bar", '|'},   {"space", ' '}};
    if (const auto word = words.find(text); word != words.end()) return word->second;
    if (text.size() == 1 && text != "\"" && text != "\n") return text.front();
    throw InputError({"--separator", shown(text), "auto, comma, semicolon, tab, bar, space or one character", ""});
}

/// Names of OMOP concepts, of those that are asked for: the whole list has millions.
std::function<std::string(const std::string&, const std::string&)> concept_names(const std::string& file) {
    if (file.empty()) return {};
    auto names = std::make_shared<std::map<std::string, std::string>>();
    const auto reader = open_records(file, {});
    const auto find = [&](const char* lower, const char* upper) {
        return reader->column(reader->has_column(upper) ? upper : lower);
    };
    const auto id = static_cast<std::size_t>(find("concept_id", "CONCEPT_ID"));
    const auto name = static_cast<std::size_t>(find("concept_name", "CONCEPT_NAME"));
    for (std::vector<std::string_view> row; reader->next(row);) names->emplace(row[id], row[name]);
    return [names](const std::string&, const std::string& code) {
        const auto at = names->find(code);
        return at == names->end() ? std::string() : at->second;
    };
}

/// What the words of the command line mean.
void resolve(TableArguments& options) {
    options.form.separator = parse_separator(options.separator);
    options.form.decimal = options.decimal == "comma" ? ',' : '.';
    options.form.encoding = options.encoding == "latin-1" ? Encoding::latin1 : Encoding::utf8;
    options.form.header = !options.no_header;
    TableOptions& table = options.table;
    table.decimal = options.form.decimal;
    if (options.dates == "day-first") table.dates = DateOrder::day_first;
    if (options.dates == "month-first") table.dates = DateOrder::month_first;
    if (!options.rule.empty()) table.rule = parse_cell_rule(options.rule);
    table.absent_nan = options.absent == "nan";
    if (options.layout == "dense") table.layout = TableLayout::dense;
    if (options.layout == "sparse") table.layout = TableLayout::sparse;
    table.any = options.any == "on" ? AnyLabel::on : options.any == "off" ? AnyLabel::off : AnyLabel::automatic;
    if (!options.map.empty()) table.map = std::make_shared<const CodeMap>(load_code_map(options.map));
    if (!options.schema.empty()) table.schema = load_vocabulary(options.schema);
    table.name_of = concept_names(options.concepts);
    table.top = parse_sizes("--top", options.top);
}

void refuse_foreign(const Command& app, const TableArguments& options) {
    const auto refuse = [&](const char* option, const char* with, const char* expected) {
        if (app.count(option) > 0)
            throw InputError({option, fmt::format("given with {}", with), expected, "Leave it out."});
    };
    if (options.table.wide) {
        for (const char* option :
             {"--value", "--unit", "--time", "--aggregate", "--absent", "--concepts", "--top", "--any"}) {
            refuse(option, "--wide", "it with tables of events only");
        }
    }
    if (!options.schema.empty()) refuse("--top", "--schema", "one or the other");
    const bool without_values = options.rule == "presence" || options.rule == "count";
    for (const char* option : {"--value", "--unit"}) {
        if (without_values) {
            refuse(option, ("--aggregate " + options.rule).c_str(), "it with --aggregate sum, mean or last");
        }
    }
    if (!options.table.wide && options.rule != "last") refuse("--time", "no --aggregate last", "both");
}

std::vector<Index> shape_of(const TableReport& report) {
    std::vector<Index> shape{report.patients};
    for (const ModeTerms& mode : report.vocabulary.modes) shape.push_back(static_cast<Index>(mode.terms.size()));
    return shape;
}

bool has_any(const Vocabulary& vocabulary) { return !find_any(schema_of(vocabulary)).empty(); }

Json unknown_json(const TableReport& report) {
    Json list = Json::array();
    constexpr std::size_t most = 100;
    for (std::size_t i = 0; i < std::min(most, report.unknown.size()); ++i) {
        const UnknownTerm& term = report.unknown[i];
        list.push_back({{"mode", term.mode}, {"code", term.code}, {"label", term.label}, {"events", term.events}});
    }
    return list;
}

Json report_json(const TableReport& report, const TableArguments& options, double seconds) {
    Json modes = Json::array();
    for (const ModeTerms& mode : report.vocabulary.modes) {
        const auto met =
            std::count_if(mode.terms.begin(), mode.terms.end(), [](const Term& t) { return t.patients > 0; });
        modes.push_back({{"name", mode.name}, {"size", mode.terms.size()}, {"met", met}});
    }
    return {{"shape", shape_of(report)},
            {"modes", std::move(modes)},
            {"tables", report.tables},
            {"records", report.records},
            {"patients", report.patients},
            {"without", report.without},
            {"entries", report.entries},
            {"missing", report.missing},
            {"withdrawn", report.withdrawn},
            {"without_value", report.without_value},
            {"without_code", report.without_code},
            {"mapped_events", report.mapped_events},
            {"unmapped_events", report.unmapped_events},
            {"unmapped_codes", report.unmapped_codes},
            {"unknown_terms", report.unknown.size()},
            {"unknown_events", report.unknown_events},
            {"unknown", unknown_json(report)},
            {"cut_terms", report.cut_terms},
            {"any", has_any(report.vocabulary)},
            {"similar", similar_json(similar_codes(report.vocabulary))},
            {"file", report.file},
            {"seconds", seconds},
            {"version", version()},
            {"output", options.output}};
}

/// Names come from files: control characters stay off the terminal.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
}

std::string unknown_text(const TableReport& report) {
    constexpr std::size_t most = 8;
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min(most, report.unknown.size()); ++i) {
        const UnknownTerm& term = report.unknown[i];
        named.push_back(fmt::format("{}{} ({})", plain(term.code), term.label.empty() ? "" : " " + plain(term.label),
                                    count_text(term.events)));
    }
    const std::string more = report.unknown.size() > most ? ", ..." : "";
    return fmt::format("{} events of {} codes: {}{}; all in unknown.csv", count_text(report.unknown_events),
                       count_text(static_cast<Index>(report.unknown.size())), fmt::join(named, ", "), more);
}

std::string report_text(const TableReport& report, const TableArguments& options, double seconds) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (std::size_t i = 0; i < report.tables.size(); ++i) {
        rows.emplace_back(i == 0 ? "read" : "",
                          fmt::format("{}: {} records", report.tables[i], count_text(report.records[i])));
    }
    if (report.withdrawn > 0) {
        rows.emplace_back("withdrawn",
                          fmt::format("{} resources say they are wrong, or are of no patient, and do not count",
                                      count_text(report.withdrawn)));
    }
    if (report.without_value > 0) {
        rows.emplace_back("no value",
                          fmt::format("{} events without a number do not count", count_text(report.without_value)));
    }
    if (report.without_code > 0) {
        rows.emplace_back("no code",
                          fmt::format("{} events without a code are skipped", count_text(report.without_code)));
    }
    if (options.table.map) {
        rows.emplace_back("mapped",
                          report.unmapped_events == 0
                              ? fmt::format("all {} events", count_text(report.mapped_events))
                              : fmt::format("{} events; {} of {} codes that --map lacks keep their codes",
                                            count_text(report.mapped_events), count_text(report.unmapped_events),
                                            count_text(report.unmapped_codes)));
    }
    for (const ModeTerms& mode : report.vocabulary.modes) {
        const auto met =
            std::count_if(mode.terms.begin(), mode.terms.end(), [](const Term& t) { return t.patients > 0; });
        const auto size = static_cast<Index>(mode.terms.size());
        rows.emplace_back(
            "mode " + plain(mode.name),
            met == size ? count_text(size) : fmt::format("{}, {} of them here", count_text(size), count_text(met)));
    }
    if (has_any(report.vocabulary)) {
        rows.emplace_back("", fmt::format("with {}, which every patient has, in every mode", any_label));
    }
    rows.emplace_back("patients", count_text(report.patients) +
                                      (report.without > 0 ? fmt::format("; {} of whom nothing counts are left out",
                                                                        count_text(report.without))
                                                          : ""));
    const double cells = static_cast<double>(Shape(shape_of(report)).size());
    rows.emplace_back(
        "entries",
        fmt::format("{} ({:.3g}% of the tensor){}", count_text(report.entries),
                    100 * static_cast<double>(report.entries) / cells,
                    report.missing > 0 ? fmt::format("; {} not known (NaN)", count_text(report.missing)) : ""));
    if (report.cut_terms > 0)
        rows.emplace_back("left out", fmt::format("{} rarer codes (--top)", count_text(report.cut_terms)));
    if (!report.unknown.empty()) rows.emplace_back("unknown", unknown_text(report));
    rows.emplace_back("written", fmt::format("{0}/{1}, patients.csv (stays here), schema.json, manifest.json",
                                             options.output, report.file));
    rows.emplace_back("time", seconds_text(seconds));
    return fields(rows);
}

/// What is read is never replaced, not even with --force: patients.csv is also what Synthea calls one of its tables.
void require_apart(const TableArguments& options, const std::vector<std::string>& inputs) {
    std::error_code ignored;
    for (const std::string& input : inputs) {
        for (const char* name : table_files) {
            if (!std::filesystem::equivalent(input, std::filesystem::path(options.output) / name, ignored)) continue;
            throw InputError({"--output", fmt::format("{}, where {} would be replaced", options.output, input),
                              "another folder than that of the tables", "Choose another output folder."});
        }
    }
}

/// Events that are read twice count twice.
void require_different(const std::vector<std::string>& files) {
    std::error_code ignored;
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (!std::filesystem::equivalent(files[i], files[k], ignored)) continue;
            throw InputError({"FILE", fmt::format("{} twice", files[i]), "every file once", "Leave one out."});
        }
    }
}

void execute_table(const Command& app, TableArguments& options, const Session& session) {
    refuse_foreign(app, options);
    resolve(options);
    std::vector<TableInput> tables;
    std::vector<std::string> files;
    for (const std::string& text : options.files) {
        auto [name, file] = split_file(text);
        files.push_back(file);
        tables.push_back(file_input(file, options.form, std::move(name)));
    }
    require_different(files);
    for (const std::string& other : {options.schema, options.concepts, options.map}) {
        if (!other.empty()) files.push_back(other);
    }
    require_apart(options, files);
    clean_on_interrupt(options.output);
    Stopwatch watch;
    const TableReport report = build_table(tables, options.table, options.output, session.force(), session.progress());
    const double seconds = watch.lap();
    if (const auto similar = similar_codes(report.vocabulary); !similar.empty()) {
        session.note("warning: " + similar_text(similar));
    }
    session.print(report_json(report, options, seconds), report_text(report, options, seconds));
}

void add_reading_options(Command& app, TableArguments& options) {
    app.add_option(
           "--separator", options.separator,
           "auto: the most frequent of , ; tab | in the first line. comma, semicolon, tab, bar, space or one character")
        .type("CHAR")
        .standard(options.separator);
    add_choice(app, "--decimal", {"point", "comma"}, options.decimal, "1.5 or 1,5");
    add_choice(app, "--encoding", {"utf-8", "latin-1"}, options.encoding, "Of csv and tsv");
    add_choice(app, "--dates", {"iso", "day-first", "month-first"}, options.dates,
               "2024-03-31 or 20240331; also 31.3.2024; also 3/31/2024");
    app.add_flag("--no-header", options.no_header, "The first line is data; columns are called 1, 2, ...");
}

void add_cell_options(Command& app, TableArguments& options) {
    TableOptions& table = options.table;
    const auto columns = [&](const char* name, std::vector<std::string>& list, const char* about) {
        app.add_option(name, list, about).type("[TABLE:]COLUMN");
    };
    columns("--value", table.values, "Number that an event brings");
    columns("--unit", table.units, "Unit of the value; two units of one code are refused, and none beside one");
    columns("--time", table.times,
            "Date of an event, with its time where it has one, for --aggregate last; of two at one time the larger "
            "value");
    app.add_option(
           "--aggregate",
           [&options](const std::string& text) {
               options.rule = parse_choice("--aggregate", {"presence", "count", "sum", "mean", "last"}, text);
           },
           "What the events of one cell become: presence, count, sum, mean or last")
        .type("RULE")
        .standard("mean where all tables have values, presence where none has");
    add_choice(app, "--absent", {"zero", "nan"}, options.absent, "An entry without an event: zero, or not known");
    app.add_option("--schema", options.schema, "Build to this vocabulary; codes it lacks are counted and named")
        .type("S.json");
    app.add_option("--top", options.top, "Keep so many of the most frequent codes: 40, or 40x30 for each mode")
        .type("N");
    add_count(app, {"--max-codes", "N", 1, 10'000'000, ""}, table.most_codes,
              "More codes in one mode are refused: the column is no code list");
    app.add_option("--concepts", options.concepts, "Names of OMOP concepts: CONCEPT.csv").type("FILE");
    app.add_option(
           "--map", options.map,
           "What the site's own codes are in a code list that sites share: a table with columns local and "
           "shared, perhaps label and mode, or OMOP's concept_relationship. Codes that it lacks stay as they are "
           "and are counted")
        .type("FILE");
    app.add_flag("--skip-empty", table.skip_empty,
                 "Leave events without a code out, and count them, instead of refusing");
    app.add_flag("--keep-empty", table.keep_empty, "Rows of zeros for patients of whom nothing counts");
    add_choice(app, "--any", {"auto", "on", "off"}, options.any,
               "A label (any) first in every mode, which every patient has: simulate then forms features from what "
               "deviates from the prevalences. auto: as the schema has it; without one with presences of codes from "
               "two tables or more");
    add_choice(app, "--layout", {"auto", "dense", "sparse"}, options.layout,
               "tensor.npy or tensor.tns; auto: whichever is smaller");
}

Action set_up_table(Command& app) {
    auto options = std::make_shared<TableArguments>();
    app.add_option("FILE", options->files,
                   "Tables: .csv, .tsv, .ndjson or .jsonl, also .gz. NAME=FILE names one for --modes; otherwise it is "
                   "called as its file, without endings")
        .type("FILE...")
        .required();
    app.add_option("--patient", options->table.patient,
                   "Column with the identifier of the patient; dx:pid rx:person where tables call it differently")
        .type("[TABLE:]COLUMN...")
        .standard("that of FHIR, OMOP and Synthea tables");
    app.add_option("--modes", options->table.modes,
                   "Feature modes. Events: [NAME=][TABLE:]COLUMN[/LABELS][@PERIOD], PERIOD one of day, week, month, "
                   "quarter, year. With --wide: "
                   "[NAME=]COLUMN[:KIND],... where KIND is number, category, a bin, or since=DATE_OR_COLUMN")
        .type("MODE...")
        .standard("the codes of FHIR, OMOP and Synthea tables");
    app.add_flag("--wide", options->table.wide, "One row per patient, a column per feature");
    add_cell_options(app, *options);
    add_reading_options(app, *options);
    app.add_option("-o,--output", options->output, "Folder to write; it is made if it is not there")
        .type("DIR")
        .required();
    return [options, &app](Session& session) { execute_table(app, *options, session); };
}

}  // namespace

extern const Verb table_verb{
    .name = "table",
    .group = federation_group,
    .summary = "make a tensor of a hospital's tables",
    .description =
        "Reads tables of events (a patient, a code, perhaps a second code, a date or a value a line) or, with --wide, "
        "one row per patient, and writes a folder: the tensor (sparse where that is smaller), patients.csv with the "
        "identifier of every row, schema.json and manifest.json. Identifiers are in patients.csv alone, which stays at "
        "the "
        "site.\n\n"
        "Modes from one table count together: an event is one cell. Modes from different tables are multiplied "
        "patient by patient: with presence, a cell is 1 for patients who have both codes.\n\n"
        "Bulk exports of FHIR (Condition, MedicationRequest, Observation, ...), OMOP tables (condition_occurrence, "
        "drug_exposure, ...) and the csv files of Synthea are known by their columns and need neither --patient nor "
        "--modes. In Python couplet.table() takes data frames and everything else that speaks the Arrow stream "
        "interface.",
    .output =
        "What was read, the size of each mode, patients, entries, and codes that the schema lacks.\n"
        "--json: shape, modes [{name, size, met}], tables, records, patients, without, entries, missing, withdrawn, "
        "without_value, without_code (skipped), mapped_events, unmapped_events and unmapped_codes (of --map), "
        "unknown_terms, unknown_events, unknown [{mode, code, label, events}], cut_terms, any (whether every mode has "
        "the label of every patient), similar [{mode, codes}] "
        "(codes that "
        "differ by capitals, blanks, accents or punctuation alone), file, seconds, version, output.",
    .examples =
        "couplet table conditions.csv medications.csv -o site\n"
        "couplet table Condition.ndjson MedicationRequest.ndjson --schema schema.json -o site\n"
        "couplet table labs.csv --patient ID --modes test=CODE month=DATE@month --value RESULT -o labs\n"
        "couplet table survey.csv --wide --patient ID --modes body=bmi,sex:category habit=smoker -o survey",
    .common = "patient modes wide value time aggregate schema top output",
    .setup = set_up_table};

}  // namespace couplet::cli
