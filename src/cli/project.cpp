#include "couplet/ctt/project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/models/loadings.hpp"
#include "couplet/sim/centring_file.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "job_options.hpp"
#include "layout.hpp"
#include "patients.hpp"
#include "result_folder.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ProjectArguments {
    std::string features;
    std::string input;
    std::string missing = "refuse";
    std::string output;
    Unnamed unnamed = Unnamed::refuse;
};

/// What patients are described by: features of a federation, or the rows of a model that was fitted to them.
struct Frozen {
    TensorTrain<double> rows;
    Centring centring;
    bool non_negative;  ///< loadings are to be
};

Frozen read_features(const std::string& path) {
    if (is_tensor_name(path)) {
        throw InputError({path, "a tensor, by its name", "the features first, then the patients",
                          fmt::format("couplet project features.npz {}", path)});
    }
    Model<double> model = to_double(read_model(path));
    if (!model.is_features()) {
        throw InputError({path, model.is_personal() ? "a personal core" : "a complete model",
                          "the features of a federation (core_2 ... core_N)",
                          "couplet simulate ... -o DIR writes them as DIR/features.npz."});
    }
    Centring centring = read_centring(model.metadata, path);
    const bool non_negative = model.metadata.contains("model") && model.metadata["model"] == "nncp";
    return {train_of(std::move(model), path), std::move(centring), non_negative};
}

Projection project_non_negative(const TensorTrain<double>& rows, const TensorView<const double>& x,
                                const std::string& where) {
    Loadings found = fit_loadings(rows, x, true, where);
    return {std::move(found.values), found.norm2 > 0 ? found.error2 / found.norm2 : 0, 0, {}, {}};
}

/// "3, 7 and 12 more", counted from 1.
std::string patients_text(const std::vector<Index>& patients) {
    constexpr std::size_t most_named = 8;
    std::vector<Index> named;
    for (std::size_t i = 0; i < std::min(most_named, patients.size()); ++i) named.push_back(patients[i] + 1);
    const std::string more =
        patients.size() > most_named ? fmt::format(" and {} more", patients.size() - most_named) : "";
    return fmt::format("{}{}", fmt::join(named, ", "), more);
}

void add_missing(const Projection& missing, Json& json, std::vector<std::pair<std::string, std::string>>& rows) {
    json["missing"] = {{"fraction", missing.missing}, {"loose", missing.loose.size()}, {"unknown", missing.unknown}};
    rows.emplace_back("missing", missing.missing == 0 ? "nothing"
                                                      : fmt::format("{:.1f}% of the entries; each patient is fitted "
                                                                    "to what is known of it",
                                                                    100 * missing.missing));
    if (!missing.loose.empty()) {
        rows.emplace_back(
            "little known",
            fmt::format("of {} patients ({}): their smallest core that fits, zero where nothing is said",
                        count_text(static_cast<Index>(missing.loose.size())), patients_text(missing.loose)));
    }
    if (!missing.unknown.empty()) {
        rows.emplace_back("nothing known", fmt::format("of {} patients ({}): zeros",
                                                       count_text(static_cast<Index>(missing.unknown.size())),
                                                       patients_text(missing.unknown)));
    }
}

void execute_project(const ProjectArguments& options, const Session& session) {
    const bool impute = options.missing == "impute";
    session.claim_output(options.output, std::array{options.features, options.input});
    Stopwatch watch;
    const Frozen features = read_features(options.features);
    const TensorTrain<double>& train = features.rows;
    const Centring& centring = features.centring;
    if (impute && features.non_negative) {
        throw InputError({options.features, "non-negative factors, and --missing impute", "complete patients",
                          "Fill the gaps first, or use the features of the federation."});
    }
    const Patients patients =
        open_patients(options.input, {train, centring, options.features, options.unnamed, impute}, session);
    const Tensor<double>& x = patients.x;
    const std::string& moved = patients.moved;
    const double read_seconds = watch.lap();

    const Projection fit = impute                  ? project_incomplete(train, x.view(), options.input)
                           : features.non_negative ? project_non_negative(train, x.view(), options.input)
                                                   : project(train, x.view(), options.input);
    const double compute_seconds = watch.lap();
    const double rse = fit.rse;

    double write_seconds = 0;
    if (!options.output.empty()) {
        save_personal(options.output, fit.personal, patients.labels,
                      {{"features", options.features},
                       {"features_print", features_print(train)},
                       {"rse", rse},
                       {"version", version()}},
                      session.force());
        write_seconds = watch.lap();
    }
    Json json{{"rse", rse},
              {"rank", fit.personal.cols()},
              {"rows", fit.personal.rows()},
              {"seconds", {{"read", read_seconds}, {"compute", compute_seconds}, {"write", write_seconds}}},
              {"version", version()}};
    std::vector<std::pair<std::string, std::string>> rows{
        {"patients", count_text(fit.personal.rows())},
        {"rank", count_text(fit.personal.cols())},
        {"RSE", fmt::format("{} (relative error {}{})", number_text(rse), number_text(std::sqrt(rse)),
                            impute ? "; known entries only" : "")}};
    if (!moved.empty()) {
        json["reordered"] = moved;
        rows.emplace_back("put in order", moved);
    }
    if (!centring.empty()) {
        json["centred"] = !centring.mean.empty();
        json["scaled"] = !centring.scale.empty();
        rows.emplace_back("centred", centring.scale.empty()
                                         ? "as the federation was"
                                         : "and scaled as the federation was; the error is that of such data");
    }
    if (impute) add_missing(fit, json, rows);
    if (!options.output.empty()) {
        json["output"] = options.output;
        rows.emplace_back("written", options.output);
    }
    rows.emplace_back("time", fmt::format("read {}, compute {}, write {}", seconds_text(read_seconds),
                                          seconds_text(compute_seconds), seconds_text(write_seconds)));
    session.print(json, fields(rows));
}

Action set_up_project(Command& app) {
    auto options = std::make_shared<ProjectArguments>();
    add_input(app, "FEATURES.npz", options->features, "Features of a federation, as couplet simulate -o writes them");
    add_input(app, "X.npy", options->input,
              "Tensor of new patients: .npy, .csv, .csv.gz or .tns; all modes but the first as in the features");
    add_unnamed_flag(app, options->unnamed);
    add_choice(app, "--missing", {"refuse", "impute"}, options->missing,
               "NaN: an error, or an entry that nobody knows. impute: every patient is fitted by least squares to what "
               "is known of it");
    add_output(app, ".npz", false, options->output, "Personal core to write; without it nothing is written");
    return [options](Session& session) { execute_project(*options, session); };
}

}  // namespace

extern const Verb project_verb{
    .name = "project",
    .group = federation_group,
    .summary = "embed new patients with frozen features",
    .description =
        "Finds the personal core that fits new patients best while the feature cores of a federation, or the factors "
        "that couplet factor fitted to them, stay as they are; of non-negative factors it has no negative entry. "
        "Nothing is sent, and nothing of the federation changes: a row of the core describes a patient in as many "
        "numbers as the features have directions. Columns are matched by name: data in another order is put in the "
        "federation's, data with other names or units is refused.",
    .output =
        "RSE: squared error over squared norm of the new patients. rank: numbers per patient.\n"
        "--json: rse, rank, rows, seconds {read, compute, write}, version, output (with -o), reordered (what was put "
        "in the features' order), missing {fraction, loose, unknown} (with --missing impute; rse then counts the known "
        "entries). loose: how many patients know too little to fix every direction (fewer entries than the rank, or a "
        "pivot of the normal equations under 1e-3 of their mean); they get the core of minimum norm, without the "
        "directions below that limit. unknown: patients, counted from 0, of whom nothing is known; their rows are "
        "zeros.",
    .examples =
        "couplet project result/features.npz new.npy\n"
        "couplet project result/features.npz new.npy -o personal.npz\n"
        "couplet project result/features.npz new.csv --missing impute",
    .setup = set_up_project};

}  // namespace couplet::cli
