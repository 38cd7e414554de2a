#include "couplet/experiments/reproduce.hpp"

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
#include "couplet/experiments/report.hpp"
#include "couplet/experiments/result_files.hpp"
#include "couplet/io/atomic_file.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format_name = "couplet experiment";
constexpr const char* report_name = "report.html";

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
    ExperimentResult result;
};

/// The result of an earlier run; nothing when there is no file. Throws InputError for a file of another making.
std::optional<Finished> read_finished(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    const Json json = Json::parse(slurp(path), nullptr, false);
    if (!json.is_object() || json.value("format", Json()) != format_name || !json.contains("parameters") ||
        !json.contains("result")) {
        throw InputError({path.string(), "a file of another making", "the result of an experiment, or no file",
                          "Choose another folder, or use --force to replace it."});
    }
    return Finished{json["parameters"], result_from_json(json["result"], path.string())};
}

void refuse_other_parameters(const fs::path& path, const Json& found, const Json& wanted) {
    if (found == wanted) return;
    throw InputError({path.string(), "a result with " + found.dump(), wanted.dump(),
                      "Choose another folder, or use --force to compute it again."});
}

/// Files of ours are known by their first line.
void require_ours(const fs::path& path, const std::string& start, bool force) {
    std::error_code ignored;
    if (force || !fs::exists(path, ignored) || slurp(path).find(start) != std::string::npos) return;
    throw InputError({path.string(), "a file of another making", "one that couplet reproduce wrote, or none",
                      "Choose another folder, or use --force to replace it."});
}

void make_folder(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
        throw InputError({folder.string(), failed ? failed.message() : "not a folder",
                          "a folder, or a place to make one", "Choose another output folder."});
    }
    require_output(folder / report_name, true);
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
            ExperimentResult result = reused ? std::move(*finished) : compute(*one);
            if (asked && reused) outcome.reused.emplace_back(one->name);
            if (asked && options_.on_result) options_.on_result(result, reused);
            outcome.results.push_back(std::move(result));
            // After each: an interrupted run leaves a page of what is there.
            if (asked) write_report(outcome.results);
        }
        return outcome;
    }

  private:
    fs::path file(const Experiment& one, const char* ending) const {
        return options_.folder / (std::string(one.name) + ending);
    }

    /// Everything that can be wrong, before anything is computed.
    void check() {
        make_folder(options_.folder);
        require_ours(options_.folder / report_name, report_marker, options_.force);
        const std::string header = to_csv({}).substr(0, 20);
        for (const Experiment* one : options_.experiments) {
            require_ours(file(*one, ".csv"), header, options_.force);
            if (options_.force) continue;
            if (const auto finished = read_finished(file(*one, ".json"))) {
                refuse_other_parameters(file(*one, ".json"), finished->parameters, wanted_);
            }
        }
        std::set<DataId> needed;
        for (const Experiment* one : options_.experiments) {
            if (!usable(*one, true)) needed.insert(one->data.begin(), one->data.end());
        }
        for (const DataId id : needed) lab_.data.open(id, options_.settings.seed);
    }

    /// A finished result of the same parameters, unless data that it lacked is there now.
    std::optional<ExperimentResult> usable(const Experiment& one, bool asked) const {
        if (asked && options_.force) return std::nullopt;
        std::optional<Finished> finished;
        try {
            finished = read_finished(file(one, ".json"));
        } catch (const InputError&) {
            if (asked) throw;
        }
        if (!finished || finished->parameters != wanted_) return std::nullopt;
        std::size_t absent = 0;
        for (const DataId id : one.data) absent += lab_.data.absent(id).empty() ? 0 : 1;
        if (finished->result.absent.size() > absent) return std::nullopt;
        return std::move(finished->result);
    }

    ExperimentResult compute(const Experiment& one) {
        const auto start = std::chrono::steady_clock::now();
        ExperimentResult result = one.run(lab_);
        report(options_.settings.progress, one.name, 1, 1);  // also where parts were left out
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        write_text(file(one, ".csv"), to_csv(result));
        const Json json{{"format", format_name}, {"parameters", wanted_}, {"result", to_json(result)}};
        write_text(file(one, ".json"), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
        return result;
    }

    void write_report(const std::vector<ExperimentResult>& results) const {
        write_text(options_.folder / report_name, render_report(results, {.seed = options_.settings.seed,
                                                                          .repeats = options_.settings.repeats,
                                                                          .effort = options_.settings.effort}));
    }

    const ReproduceOptions& options_;
    Json wanted_;
    Lab lab_;
};

}  // namespace

ReproduceOutcome reproduce(const ReproduceOptions& options) {
    if (options.settings.repeats < 1) {
        throw InputError({"--repeats", std::to_string(options.settings.repeats), "at least 1", ""});
    }
    return Reproduction(options).execute();
}

}  // namespace couplet
