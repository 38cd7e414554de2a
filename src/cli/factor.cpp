#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/explain/choice_drawing.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/io/made_folder.hpp"
#include "couplet/io/staged_files.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/sim/centring_file.hpp"
#include "factor.hpp"
#include "factor_report.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "job_options.hpp"
#include "merged_result.hpp"
#include "options.hpp"
#include "patients.hpp"
#include "result_folder.hpp"
#include "signals.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

namespace fs = std::filesystem;

struct FactorArguments {
    std::string result;
    std::string model = "cp";
    std::string components;
    std::vector<std::string> data;
    std::string output;
    Index starts = 4;
    Index sweeps = 500;
    Index most = 10;
    Index resamples = 4;
    Unnamed unnamed = Unnamed::refuse;
};

FactorOptions fit_options(const FactorArguments& options, const Session& session) {
    return {.model = parse_factor_model(options.model),
            .starts = options.starts,
            .sweeps = options.sweeps,
            .seed = session.seed()};
}

/// The number asked for, or the one that the data bears.
Index components_of(const FactorArguments& options, const MergedResult& result, const Session& session,
                    std::optional<Choice>& choice) {
    if (options.components != "auto") {
        return parse_count({"--components", "R", 1, 1'000'000, "Or auto."}, options.components);
    }
    const auto personal = result.personal();
    choice =
        choose_components(result.rows, personal,
                          {.fit = fit_options(options, session), .most = options.most, .resamples = options.resamples},
                          session.progress());
    if (choice->components > 0) return choice->components;
    throw RunError({"--components auto", choice_reason(*choice), "components that come back in other patients",
                    "Give a number to see what a fit to all looks like; do not read it as a finding."});
}

/// Whichever of the merge's certificate and the projections' own errors says more.
std::optional<double> bound_of(const MergedResult& result, const Factors& factors) {
    std::optional<double> bound;
    if (result.bound) bound = certified_error(factors.rel_error, *result.bound);
    if (!result.rse || !(*result.rse >= 0 && *result.rse <= 1)) return bound;
    const auto rows = rows_of_patients(result.rows.features, result.personal());
    const auto inside = captured(rows.features, factors.rows);
    const double own = certified_error_of_patients(rel_error_on(rows, inside), *result.rse,
                                                   largest_sine(inside, factors.rows.left_rank()));
    return bound ? std::min(*bound, own) : own;
}

/// Loadings of the data itself.
std::vector<SiteLoadings> data_loadings(const FactorArguments& options, const MergedResult& result,
                                        const Factors& factors, const Session& session, bool& negative) {
    TensorTrain<double> rows = factors.rows.clone();
    rows.set_labels(result.labels);
    std::vector<SiteLoadings> sites;
    for (std::size_t k = 0; k < options.data.size(); ++k) {
        const Patients patients =
            open_patients(options.data[k], {rows, result.centring, result.file, options.unnamed}, session);
        const auto elements = patients.x.elements();
        negative = negative || std::any_of(elements.begin(), elements.end(), [](double value) { return value < 0; });
        const bool listed = result.sites.size() == options.data.size();
        sites.push_back({.name = listed ? result.sites[k].name : options.data[k],
                         .loadings = fit_loadings(factors.rows, patients.x.view(), factors.model == FactorModel::nncp,
                                                  options.data[k]),
                         .labels = patients.labels,
                         .measured = true});
    }
    return sites;
}

/// Of what the features keep of each patient, where its data is elsewhere.
std::vector<SiteLoadings> projected_loadings(const MergedResult& result, const Factors& factors) {
    std::vector<SiteLoadings> sites;
    for (const SiteCore& site : result.sites) {
        sites.push_back({.name = site.name,
                         .loadings = fit_projected_loadings(factors.rows, result.rows.features, site.personal.view(),
                                                            factors.model == FactorModel::nncp),
                         .labels = site.labels});
    }
    return sites;
}

void warn(Factored& done, const MergedResult& result, bool negative, const Session& session) {
    if (done.factors.model == FactorModel::nncp && (negative || looks_signed(result.rows))) {
        done.warnings.emplace_back(
            "the data has negative entries: what was merged cannot tell a patient from its negative, so that "
            "non-negative factors may be those of either; use cp");
    }
    if (done.factors.model == FactorModel::cp && result.rows.features.order() == 1) {
        done.warnings.emplace_back(
            "of a matrix CP is not unique: any mixture of the components fits as well; use pca "
            "or nncp");
    }
    for (const std::string& warning : done.warnings) session.note("warning: " + warning);
}

Factored run(const FactorArguments& options, const MergedResult& result, const Session& session) {
    Factored done;
    FactorOptions fit = fit_options(options, session);
    fit.components = components_of(options, result, session, done.choice);
    done.factors = fit_factors(result.rows, fit);
    done.bound = bound_of(result, done.factors);
    done.starts = start_agreements(done.factors, session.seed());
    if (const auto personal = result.personal(); !personal.empty() && options.resamples > 0) {
        done.halves = replicate(result.rows, personal, done.factors, fit, options.resamples);
    }
    bool negative = false;
    done.sites = options.data.empty() ? projected_loadings(result, done.factors)
                                      : data_loadings(options, result, done.factors, session, negative);
    warn(done, result, negative, session);
    return done;
}

nlohmann::json factors_metadata(const Factored& done, const MergedResult& result, const Session& session) {
    nlohmann::json metadata{{"model", to_string(done.factors.model)},
                            {"components", done.factors.rows.left_rank()},
                            {"weights_of", "merge"},
                            {"rel_error", done.factors.rel_error},
                            {"ridge", done.factors.ridge},
                            {"features_of", result.print},
                            {"orthonormal", done.factors.model == FactorModel::pca},
                            {"seed", session.seed()},
                            {"version", version()}};
    if (done.bound) metadata["rel_error_bound"] = *done.bound;
    for (const char* field : {"centring", "client_names", "clients", "method", "aggregate"}) {
        if (result.metadata.contains(field)) metadata[field] = result.metadata[field];
    }
    return metadata;
}

void write_factors(const fs::path& file, const Factored& done, const MergedResult& result, const Session& session) {
    const Factors& factors = done.factors;
    Model<double> model = to_model(factors.rows.clone(), 2);
    model.labels = result.labels;
    model.metadata = factors_metadata(done, result, session);
    std::vector<NamedArray> beside;
    for (std::size_t n = 0; n < factors.factors.size(); ++n) {
        const auto& factor = factors.factors[n];
        beside.push_back({fmt::format("factor_{}", n + 2), {factor.data(), Shape{factor.rows(), factor.cols()}}});
    }
    beside.push_back({"weights", {factors.weights.data(), Shape{static_cast<Index>(factors.weights.size())}}});
    if (factors.core) beside.push_back({"core", factors.core->view()});
    save_model(file, model, false, beside);
}

void write_site(const fs::path& file, const SiteLoadings& site, std::size_t k, const Factored& done,
                const std::string& print) {
    nlohmann::json metadata{{"client", k + 1},
                            {"features_print", print},
                            {"model", to_string(done.factors.model)},
                            {"fitted_to", site.measured ? "data" : "projections"},
                            {"version", version()}};
    if (site.measured) {
        metadata["norm2"] = site.loadings.norm2;
        metadata["rse"] = site.loadings.norm2 > 0 ? site.loadings.error2 / site.loadings.norm2 : 0;
    }
    save_personal(file, site.loadings.values, site.labels, metadata, false);
}

bool is_ours(const std::string& name) {
    return name == "factors.npz" || name == "choice.svg" || (name.starts_with("loadings_") && name.ends_with(".npz"));
}

/// Refuses, before the work starts, a folder that holds an earlier fit.
void require_free(const fs::path& folder, const Session& session) {
    std::error_code failed;
    if (session.force() || !fs::is_directory(folder, failed)) return;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!is_ours(entry.path().filename().string())) continue;
        throw InputError({entry.path().string(), "the file exists", "a folder without factors",
                          "Choose another output folder, or use --force to replace them."});
    }
}

/// All files appear together, or none. Those of an earlier fit go.
void write_folder(const MadeFolder& folder, const Factored& done, const MergedResult& result, const Session& session) {
    StagedFiles files(folder.path());
    write_factors(files.add("factors.npz"), done, result, session);
    const std::string print = features_print(done.factors.rows);
    for (std::size_t k = 0; k < done.sites.size(); ++k) {
        // A patient a row: none of nobody.
        if (done.sites[k].loadings.values.rows() == 0) continue;
        write_site(files.add(fmt::format("loadings_{}.npz", k + 1)), done.sites[k], k, done, print);
    }
    if (done.choice) {
        AtomicFile drawing(files.add("choice.svg"), false);
        const std::string text = draw_choice(*done.choice);
        drawing.write(std::as_bytes(std::span(text)));
        drawing.commit();
    }
    std::vector<fs::path> stale;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        const auto& made = files.names();
        if (session.force() && is_ours(name) && std::find(made.begin(), made.end(), name) == made.end()) {
            stale.push_back(entry.path());
        }
    }
    files.commit(session.force(), stale);
}

}  // namespace

void factor_into(const std::string& result, const std::string& model, const std::string& components,
                 const fs::path& folder, const Session& session) {
    const FactorArguments options{.result = result, .model = model, .components = components, .resamples = 0};
    const MergedResult merged = read_merged_result(result, session);
    const Factored done = run(options, merged, session);
    write_folder(MadeFolder{folder}, done, merged, session);
}

namespace {

void execute_factor(const Command& app, const FactorArguments& options, const Session& session) {
    if (app.count("--most") > 0 && options.components != "auto") {
        throw InputError({"--most", "given with --components " + options.components, "with --components auto", ""});
    }
    std::optional<MadeFolder> folder;
    if (!options.output.empty()) {
        require_free(options.output, session);
        folder.emplace(fs::path(options.output));
        clean_on_interrupt(folder->path());
    }
    Stopwatch watch;
    const MergedResult result = read_merged_result(options.result, session);
    if (!options.data.empty() && result.all_sites && result.sites.size() != options.data.size()) {
        throw InputError({"--data", fmt::format("{} files", options.data.size()),
                          fmt::format("{}, one for each site of the result, in its order", result.sites.size()), ""});
    }
    const double read_seconds = watch.lap();
    const Factored done = run(options, result, session);
    const double compute_seconds = watch.lap();
    if (folder) write_folder(*folder, done, result, session);
    Json json = factor_json(done, result);
    json["seconds"] = {{"read", read_seconds}, {"compute", compute_seconds}, {"write", watch.lap()}};
    json["seed"] = session.seed();
    json["version"] = version();
    if (!options.output.empty()) json["output"] = options.output;
    session.print(json, factor_text(done, options.output));
}

Action set_up_factor(Command& app) {
    auto options = std::make_shared<FactorArguments>();
    add_input(app, "RESULT", options->result,
              "Folder of a result (couplet simulate -o, or what a coordinator, client or peer keeps), or its "
              "features.npz");
    add_choice(app, "--model", {"pca", "cp", "nncp", "tucker"}, options->model,
               "pca: leading directions; cp: products of one vector per mode; nncp: products without negative entries; "
               "tucker: a basis per mode and a core");
    app.add_option("--components", options->components,
                   "How many; auto: as many as come back in halves of the patients")
        .type("R|auto")
        .required();
    app.add_option("--data", options->data,
                   "The sites' tensors, in the order of the result (or a site's own): loadings are fitted to them, and "
                   "the error is measured")
        .type("X.npy...");
    add_count(app, {"--starts", "N", 1, 1000, ""}, options->starts, "Random starts; the best is kept");
    add_count(app, {"--sweeps", "N", 1, 1'000'000, ""}, options->sweeps, "Sweeps of a start, at most");
    add_count(app, {"--most", "N", 1, 1000, ""}, options->most, "Components that auto tries at most");
    add_count(app, {"--resamples", "N", 0, 1000, ""}, options->resamples,
              "Splits of every site's patients in halves, to see whether components come back; 0: none");
    add_unnamed_flag(app, options->unnamed);
    app.add_option("-o,--output", options->output, "Folder to write: factors.npz, loadings_<k>.npz, choice.svg")
        .type("DIR");
    return [options, &app](Session& session) { execute_factor(app, *options, session); };
}

}  // namespace

extern const Verb factor_verb{
    .name = "factor",
    .group = federation_group,
    .summary = "fit PCA, CP, non-negative CP or Tucker to a result",
    .description =
        "Fits a model of the feature modes to what a federation has merged. The merge holds the second moment of all "
        "patients up to a stated error, which is all that a least-squares fit of feature modes asks of them: nothing "
        "is "
        "sent and no patient is needed. All parties of a job that run this on its features.npz have the same factors "
        "to "
        "the bit. Patients are fitted at their site, with --data, or later by couplet project.\n\n"
        "factors.npz takes the place of features.npz in couplet project, reconstruct and explain.",
    .output =
        "error: on what was merged. certified: a bound for all patients, from the merge's own. measured: on the data "
        "given. starts, halves agree: Tucker's congruence of components that belong together, corrected for what "
        "shuffled features reach; 1 is the same, 0 is chance.\n"
        "--json: model, components, shape, rel_error, rel_error_bound (where the merge is certified), rse (with "
        "--data), "
        "merge_bound, weights (norm of each component over all patients), core (its shape), ridge (where components "
        "cancelled), sweeps, converged, start_errors, replicability {starts, halves} with {congruence, chance, "
        "corrected}, choice {components, compared, reason, points [{components, stable, rel_error, agreement, "
        "mean_agreement, held_out, core_consistency, degenerate}]} (with --components auto), loadings {of, "
        "non_negative, "
        "sites [{name, patients, rse}]}, warnings, seconds {read, compute, write}, seed, version, output.",
    .examples =
        "couplet factor result --model nncp --components 12 -o phenotypes\n"
        "couplet factor result --model cp --components auto -o factors --data a.npy b.npy\n"
        "couplet project phenotypes/factors.npz new.npy -o loadings.npz",
    .setup = set_up_factor};

}  // namespace couplet::cli
