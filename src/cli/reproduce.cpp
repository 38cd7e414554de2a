#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "command.hpp"
#include "couplet/baselines/tune.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/experiments/reproduce.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "suggest.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ReproduceArguments {
    std::vector<std::string> names;
    std::string output;
    Index repeats = 3;
    std::optional<std::filesystem::path> data;
    std::string cache;
    bool list = false;
};

/// The experiments asked for; "all" and "quick" are no names.
struct Wanted {
    Effort effort = Effort::full;
    bool by_name = false;
    std::vector<const Experiment*> experiments;
};

/// A name that is none is answered with the one it was probably meant to be.
void require_known(const std::vector<std::string>& names) {
    std::vector<std::string> known{"all", "quick"};
    for (const Experiment* one : experiments()) known.emplace_back(one->name);
    for (const std::string& name : names) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const auto meant = nearest(name, known);
        throw InputError({"NAME", "'" + name + "'", fmt::format("{}", fmt::join(known, ", ")),
                          meant ? fmt::format("Did you mean {}?", *meant) : ""});
    }
}

Wanted parse_names(const std::vector<std::string>& given) {
    require_known(given);
    Wanted wanted;
    std::vector<std::string> names;
    bool all = given.empty();
    for (const std::string& name : given) {
        if (name == "quick") wanted.effort = Effort::quick;
        if (name == "all") all = true;
        if (name != "quick" && name != "all") names.push_back(name);
    }
    wanted.by_name = !all && !names.empty();
    wanted.experiments = find_experiments(all ? std::vector<std::string>{} : names);
    return wanted;
}

void print_list(const Wanted& wanted, const Session& session) {
    std::vector<std::vector<std::string>> rows{{"name", "what"}};
    Json json{{"experiments", Json::array()}, {"effort", to_string(wanted.effort)}};
    for (const Experiment* one : wanted.experiments) {
        std::vector<std::string> data;
        for (const DataId id : one->data) data.emplace_back(data_title(id));
        json["experiments"].push_back(
            {{"name", one->name}, {"title", one->title}, {"paper", one->paper}, {"data", data}});
        rows.push_back({std::string(one->name), std::string(one->title)});
    }
    session.print(json, table(rows));
}

/// Whether nothing of an experiment could run for want of data.
bool lacks_data(const ExperimentResult& result) { return result.rows.empty() && !result.absent.empty(); }

/// Who names an experiment waits for its numbers; a page that says why there are none is not what was asked for.
void require_numbers(const ReproduceOutcome& outcome, const Wanted& wanted) {
    std::vector<std::string> names;
    std::vector<std::string> missing;
    for (const Experiment* one : wanted.experiments) {
        const auto at = std::find_if(outcome.results.begin(), outcome.results.end(),
                                     [&](const ExperimentResult& result) { return result.name == one->name; });
        if (at == outcome.results.end() || !lacks_data(*at)) continue;
        names.push_back(at->name);
        for (const std::string& what : at->absent) {
            if (std::find(missing.begin(), missing.end(), what) == missing.end()) missing.push_back(what);
        }
    }
    if (names.empty()) return;
    throw InputError({fmt::format("{}", fmt::join(names, ", ")), "not run", "data to run on",
                      fmt::format("{}", fmt::join(missing, " "))});
}

std::string line_of(const ExperimentResult& result, bool reused, std::size_t done, std::size_t total) {
    const std::string what =
        result.rows.empty() ? "not run" : fmt::format("{} numbers", count_text(static_cast<Index>(result.rows.size())));
    return fmt::format("{} of {}: {}, {}, {}", done, total, result.name, what,
                       reused ? "reused" : seconds_text(result.seconds));
}

void execute_reproduce(const ReproduceArguments& options, const Session& session) {
    const Wanted wanted = parse_names(options.names);
    if (options.list) return print_list(wanted, session);
    if (options.output.empty()) {
        throw InputError({"--output", "missing", "the folder of the report", "For example: -o report"});
    }
    clean_on_interrupt(options.output);
    ReproduceOptions how{.experiments = wanted.experiments,
                         .folder = options.output,
                         .settings = {.seed = session.seed(),
                                      .repeats = options.repeats,
                                      .effort = wanted.effort,
                                      .data = options.data,
                                      .tuning_cache = options.cache.empty() ? default_tuning_cache()
                                                                            : std::filesystem::path(options.cache),
                                      .progress = session.progress(),
                                      .spelling = session.spelling()},
                         .force = session.force()};
    std::size_t done = 0;
    how.on_result = [&](const ExperimentResult& result, bool reused) {
        session.note(line_of(result, reused, ++done, wanted.experiments.size()));
        if (wanted.by_name && lacks_data(result)) return;  // said at the end
        for (const std::string& what : result.absent) session.note(fmt::format("{}: {}", result.name, what));
    };
    how.on_note = [&](const std::string& note) { session.note(note); };
    Stopwatch watch;
    const ReproduceOutcome outcome = reproduce(how);
    const double seconds = watch.lap();
    Json list = Json::array();
    Index numbers = 0;
    std::vector<std::string> absent;
    for (const ExperimentResult& result : outcome.results) {
        const bool reused =
            std::find(outcome.reused.begin(), outcome.reused.end(), result.name) != outcome.reused.end();
        list.push_back({{"name", result.name},
                        {"rows", result.rows.size()},
                        {"seconds", result.seconds},
                        {"reused", reused},
                        {"absent", result.absent}});
        numbers += static_cast<Index>(result.rows.size());
        if (!result.absent.empty()) absent.push_back(result.name);
    }
    const std::string page = (std::filesystem::path(options.output) / "report.html").string();
    const Json json{{"report", page},
                    {"experiments", list},
                    {"effort", to_string(wanted.effort)},
                    {"repeats", options.repeats},
                    {"seconds", seconds},
                    {"seed", session.seed()},
                    {"version", version()}};
    std::vector<std::pair<std::string, std::string>> rows{
        {"report", page},
        {"experiments",
         fmt::format("{}, {} numbers; {} reused", outcome.results.size(), count_text(numbers), outcome.reused.size())},
        {"time", seconds_text(seconds)}};
    if (!absent.empty()) {
        rows.emplace_back(
            "data", fmt::format("not all there for {}; the report says what is missing", fmt::join(absent, ", ")));
    }
    session.print(json, fields(rows));
    if (wanted.by_name) require_numbers(outcome, wanted);
}

Action set_up_reproduce(Command& app) {
    auto options = std::make_shared<ReproduceArguments>();
    std::string names;
    for (const Experiment* one : experiments()) names += (names.empty() ? "" : ", ") + std::string(one->name);
    app.add_option("NAME...", options->names,
                   "all, quick (smaller, two minutes; also before names), or experiments: " + names)
        .type("all|quick");
    app.add_option("-o,--output", options->output, "Folder for report.html and the numbers; made if not there")
        .type("DIR");
    add_count(app, {"--repeats", "N", 1, 10'000, "The paper uses 20."}, options->repeats,
              "How often everything is measured, on other data of the same kind");
    app.add_option(
           "--data", [options](const std::string& text) { options->data = text; }, "Folder of the public data sets")
        .type("DIR")
        .standard("the folder in the environment variable COUPLET_DATA");
    app.add_option("--cache", options->cache, "File in which tunings of the other methods are kept")
        .type("FILE")
        .standard("as couplet tune");
    app.add_flag("--list", options->list, "Only say which experiments there are");
    return [options](Session& session) { execute_reproduce(*options, session); };
}

}  // namespace

extern const Verb reproduce_verb{
    .name = "reproduce",
    .group = federation_group,
    .summary = "the paper's tables and figures, in one report",
    .description =
        "Runs the paper's experiments, and some that it lacks, with the CTT of Zhang et al. 2024 as printed, with ours "
        "and with the "
        "methods of "
        "other papers, and writes one self-contained page: summary first, then every experiment with its figures, the "
        "tables "
        "behind them and the paper's own numbers. Experiments that are finished in the folder with the same "
        "parameters, data and tunings are not computed again, so an interrupted run can be repeated; --force computes "
        "again.\n\n"
        "Without the public data the synthetic experiments run and the page says what is missing and where to get it; "
        "an experiment that is named and has nothing to run on is bad input (exit code 2). "
        "The first full run tunes the methods of other papers, which nearly doubles its time; what it finds is kept.",
    .output =
        "DIR/report.html opens without a network. Beside it are NAME.csv and NAME.json with every number.\n"
        "--json: report, experiments [{name, rows, seconds, reused, absent}], effort, repeats, seconds, seed, version. "
        "With "
        "--list: experiments [{name, title, paper, data}], effort.",
    .examples =
        "couplet reproduce quick -o report\n"
        "couplet reproduce all -o report --data data\n"
        "couplet reproduce r1_synthetic eps1 -o report --repeats 20\n"
        "couplet reproduce quick missing -o report --seed 7",
    .common = "output data list",
    .setup = set_up_reproduce};

}  // namespace couplet::cli
