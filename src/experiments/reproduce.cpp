#include "couplet/experiments/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/experiments/report.hpp"
#include "couplet/experiments/result_files.hpp"
#include "couplet/experiments/slide.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/made_folder.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format_name = "couplet experiment";
constexpr const char* report_name = "report.html";
constexpr const char* slide_name = "summary.svg";

std::string slurp(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const fs::path& path, const std::string& text) {
    AtomicFile file(path, true);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

/// What must agree for a result to be reused.
Json parameters(const ExperimentSettings& settings) {
    return {{"seed", settings.seed},
            {"repeats", settings.repeats},
            {"effort", to_string(settings.effort)},
            {"version", version()}};
}

/// A result on disk.
struct Finished {
    Json parameters;
    Json data;  ///< origin_json() of each data set by its title
    ExperimentResult result;
};

/// From which file a result was computed; null when it was absent.
Json origin_json(const std::optional<DataOrigin>& origin) {
    if (!origin) return nullptr;
    return {{"file", origin->file},
            {"bytes", origin->content.bytes},
            {"fnv1a", fmt::format("{:016x}", origin->content.hash)},
            {"rows", origin->rows}};
}

/// Which file it was, for a message; results lie in files that anybody may have edited.
std::string file_text(const Json& origin) {
    const auto field = [&](const char* name) {
        const Json value = origin.value(name, Json());
        return value.is_string() ? value.get<std::string>() : value.dump();
    };
    return fmt::format("{} ({} bytes, FNV-1a {})", field("file"), field("bytes"), field("fnv1a"));
}

std::string title(DataId id) { return std::string(data_title(id)); }

/// What became of the data of a finished result.
struct DataChange {
    std::optional<DataId> other;    ///< another file than then, or nobody knows
    std::optional<DataId> arrived;  ///< absent then
    std::optional<DataId> gone;     ///< absent now
};

DataChange data_change(const Experiment& one, const Json& then, DataLibrary& library) {
    DataChange change;
    for (const DataId id : one.data) {
        if (!is_public(id)) continue;
        const Json before = then.value(title(id), Json("unknown"));
        const Json now = origin_json(library.origin(id));
        const auto differs = [&](const char* field) { return before.value(field, Json()) != now[field]; };
        if (before.is_null()) {
            if (!now.is_null()) change.arrived = id;
        } else if (before.is_object() && now.is_null()) {
            change.gone = id;
        } else if (!before.is_object() || differs("bytes") || differs("fnv1a")) {
            change.other = id;
        }
    }
    return change;
}

/// The result of an earlier run; nothing when there is no file. Throws InputError for a file of another making.
std::optional<Finished> read_finished(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    const Json json = Json::parse(slurp(path), nullptr, false);
    if (!json.is_object() || json.value("format", Json()) != format_name || !json.contains("parameters") ||
        !json.contains("result")) {
        throw InputError({path.string(), "a file of another making", "the result of an experiment, or no file",
                          "Choose another folder, or use `force` to replace it."});
    }
    const Json data = json.value("data", Json::object());
    return Finished{json["parameters"], data.is_object() ? data : Json::object(),
                    result_from_json(json["result"], path.string())};
}

void refuse_other_parameters(const fs::path& path, const Json& found, const Json& wanted) {
    if (found == wanted) return;
    throw InputError({path.string(), "a result with " + found.dump(), wanted.dump(),
                      "Choose another folder, or use `force` to compute it again."});
}

/// Data that arrived is no reason to refuse, unless data that is gone would be lost by computing again.
void refuse_other_data(const fs::path& path, const DataChange& change, const Json& then, DataLibrary& library) {
    constexpr const char* remedy = "Choose another folder, or use `force` to compute it again.";
    if (change.other) {
        const std::string name = title(*change.other);
        const Json before = then.value(name, Json());
        const Json now = origin_json(library.origin(*change.other));
        throw InputError({path.string(),
                          before.is_object() ? fmt::format("a result from another {} file, {}", name, file_text(before))
                                             : fmt::format("a result that does not say from which {} file", name),
                          now.is_null() ? "one that does" : "one from " + file_text(now), remedy});
    }
    if (change.arrived && change.gone) {
        throw InputError({path.string(),
                          fmt::format("a result with {}, which is not there now, and without {}, which is",
                                      data_title(*change.gone), data_title(*change.arrived)),
                          "one whose data is there", remedy});
    }
}

/// Files of ours are known by their first line.
void require_ours(const fs::path& path, const std::string& start, bool force) {
    std::error_code ignored;
    if (force || !fs::exists(path, ignored) || slurp(path).find(start) != std::string::npos) return;
    throw InputError({path.string(), "a file of another making", "one that couplet reproduce wrote, or none",
                      "Choose another folder, or use `force` to replace it."});
}

class Reproduction {
  public:
    explicit Reproduction(const ReproduceOptions& options)
        : options_(options), wanted_(parameters(options.settings)), lab_(options.settings) {}

    ReproduceOutcome execute() {
        check();
        ReproduceOutcome outcome;
        std::set<std::string> done;
        for (const Experiment* one : experiments()) {
            const bool asked =
                std::find(options_.experiments.begin(), options_.experiments.end(), one) != options_.experiments.end();
            auto finished = usable(*one, asked);
            const bool reused = finished.has_value();
            if (!asked && !reused) continue;
            if (asked && reused) tell(*one, finished->data);
            ExperimentResult result = reused ? std::move(finished->result) : compute(*one);
            if (asked && reused) outcome.reused.emplace_back(one->name);
            if (asked && options_.on_result) options_.on_result(result, reused);
            outcome.results.push_back(std::move(result));
            // After each: an interrupted run leaves a page of what is there.
            write_report(outcome.results);
        }
        return outcome;
    }

  private:
    fs::path file(const Experiment& one, const char* ending) const {
        return options_.folder / (std::string(one.name) + ending);
    }

    /// Everything that can be wrong, before anything is computed.
    void check() {
        if (!options_.settings.tuning_cache.empty()) load_tuning(options_.settings.tuning_cache, {});
        folder_.emplace(options_.folder);
        require_output(options_.folder / report_name, true);
        require_ours(options_.folder / report_name, report_marker, options_.force);
        require_ours(options_.folder / slide_name, slide_marker, options_.force);
        const std::string header = to_csv({}).substr(0, 20);
        for (const Experiment* one : options_.experiments) {
            require_ours(file(*one, ".csv"), header, options_.force);
            if (options_.force) continue;
            if (const auto finished = read_finished(file(*one, ".json"))) {
                refuse_other_parameters(file(*one, ".json"), finished->parameters, wanted_);
                const DataChange change = data_change(*one, finished->data, lab_.data);
                refuse_other_data(file(*one, ".json"), change, finished->data, lab_.data);
            }
        }
        std::set<DataId> needed;
        for (const Experiment* one : options_.experiments) {
            if (!usable(*one, true)) needed.insert(one->data.begin(), one->data.end());
        }
        for (const DataId id : needed) lab_.data.open(id, options_.settings.seed);
        for (const Experiment* one : options_.experiments) {
            if (!usable(*one, true)) tell(*one, data_of(*one));
        }
    }

    /// The files of an experiment by the names of their data sets; what is generated has none.
    Json data_of(const Experiment& one) {
        Json data = Json::object();
        for (const DataId id : one.data) {
            if (is_public(id)) data[title(id)] = origin_json(lab_.data.origin(id));
        }
        return data;
    }

    /// What a kept result lacks, as it is to be had now: the folder may be another one than then.
    std::vector<std::string> absent_now(const Experiment& one, const Json& then) const {
        std::vector<std::string> absent;
        for (const DataId id : one.data) {
            if (then.contains(title(id)) && then[title(id)].is_null()) absent.push_back(lab_.data.absent(id));
        }
        return absent;
    }

    /// What is to be said of the files that a result was, or will be, computed from.
    static std::vector<std::string> notes(const Experiment& one, const Json& data) {
        std::vector<std::string> notes;
        for (const DataId id : one.data) {
            const Json origin = data.value(title(id), Json());
            if (!origin.is_object()) continue;
            const Json path = origin.value("file", Json());
            const Json rows = origin.value("rows", Json());
            if (!path.is_string() || !rows.is_number_integer()) continue;
            std::string note = unlike_published(id, path, rows);
            if (!note.empty()) notes.push_back(std::move(note));
        }
        return notes;
    }

    void tell(const Experiment& one, const Json& data) {
        for (const std::string& note : notes(one, data)) {
            if (told_.insert(note).second && options_.on_note) options_.on_note(note);
        }
    }

    /// A finished result of the same parameters and data, unless data or tunings that it lacked are there now.
    std::optional<Finished> usable(const Experiment& one, bool asked) {
        if (asked && options_.force) return std::nullopt;
        std::optional<Finished> finished;
        try {
            finished = read_finished(file(one, ".json"));
            if (!finished || finished->parameters != wanted_) return std::nullopt;
            const DataChange change = data_change(one, finished->data, lab_.data);
            if (change.other || change.arrived) return std::nullopt;
            // What was computed from data that is gone could not be computed again.
            const auto outdated = [&](const MethodTuning& tuning) { return lab_.methods.outdated(tuning); };
            if (!change.gone && std::ranges::any_of(finished->result.tunings, outdated)) return std::nullopt;
            finished->result.absent = absent_now(one, finished->data);
        } catch (const InputError&) {
            if (asked) throw;
            return std::nullopt;
        }
        return finished;
    }

    ExperimentResult compute(const Experiment& one) {
        const auto start = std::chrono::steady_clock::now();
        lab_.methods.take_tunings();
        ExperimentResult result = one.run(lab_);
        report(options_.settings.progress, one.name, 1, 1);  // also where parts were left out
        result.tunings = lab_.methods.take_tunings();
        result.threads = thread_count();
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const Json data = data_of(one);
        for (std::string& note : notes(one, data)) result.findings.push_back(std::move(note));
        write_text(file(one, ".csv"), to_csv(result));
        const Json json{{"format", format_name}, {"parameters", wanted_}, {"data", data}, {"result", to_json(result)}};
        write_text(file(one, ".json"), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
        return result;
    }

    void write_report(const std::vector<ExperimentResult>& results) const {
        write_text(options_.folder / report_name, render_report(results, {.seed = options_.settings.seed,
                                                                          .repeats = options_.settings.repeats,
                                                                          .effort = options_.settings.effort}));
        const std::string slide = render_slide(results);
        if (!slide.empty()) write_text(options_.folder / slide_name, slide);
    }

    const ReproduceOptions& options_;
    std::optional<MadeFolder> folder_;
    Json wanted_;
    std::set<std::string> told_;
    Lab lab_;
};

}  // namespace

ReproduceOutcome reproduce(const ReproduceOptions& options) {
    if (options.settings.repeats < 1) {
        throw InputError({"`repeats`", std::to_string(options.settings.repeats), "at least 1", ""});
    }
    return Reproduction(options).execute();
}

}  // namespace couplet
