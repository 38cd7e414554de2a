#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/ctt/known_fit.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "job_options.hpp"
#include "layout.hpp"
#include "result_folder.hpp"
#include "session.hpp"
#include "stopwatch.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct Options {
    std::string features;
    std::string input;
    std::string missing = "refuse";
    std::string output;
    Unnamed unnamed = Unnamed::refuse;
};

TensorTrain<double> read_features(const std::string& path) {
    Model<double> model = to_double(read_model(path));
    if (!model.is_features()) {
        throw InputError({path, model.is_personal() ? "a personal core" : "a complete model",
                          "the features of a federation (core_2 ... core_N)",
                          "couplet simulate ... -o DIR writes them as DIR/features.npz."});
    }
    return train_of(std::move(model), path);
}

void require_fit(const Shape& x, const TensorTrain<double>& train, const Options& options) {
    const Shape& features = train.shape();
    if (x.order() != features.order() + 1) {
        throw InputError({options.input, fmt::format("{} modes ({})", x.order(), shape_text(x)),
                          fmt::format("{}: patients, then {} as in {}", features.order() + 1, shape_text(features),
                                      options.features),
                          ""});
    }
    for (Index n = 0; n < features.order(); ++n) {
        if (x[n + 1] == features[n]) continue;
        throw InputError({options.input, fmt::format("mode {} has size {}", n + 2, x[n + 1]),
                          fmt::format("{} as in {}", features[n], options.features),
                          "Only the first mode, the patients, may differ."});
    }
}

/// Puts the patients' features in the order of the federation's. Returns what was done, in words.
std::string follow(Tensor<double>& x, const TensorTrain<double>& train, const Options& options) {
    const Schema job = make_schema(train.shape(), train.labels(), options.features);
    const Schema mine = feature_schema(x, options.input);
    const Alignment alignment = align(job, mine, options.unnamed, options.input, options.features);
    if (alignment.empty()) return {};
    x = reordered(x.view(), alignment);
    return describe(alignment, job);
}

/// Whether W W^T = I to rounding, from the cores alone: their rows are then orthonormal.
bool is_right_orthonormal(const TensorTrain<double>& train) {
    for (Index n = 0; n < train.order(); ++n) {
        const auto g = gram(train.right_unfolding(n), Side::left);
        for (Index i = 0; i < g.rows(); ++i) {
            for (Index j = 0; j < g.cols(); ++j) {
                if (!(std::abs(g(i, j) - (i == j ? 1.0 : 0.0)) < 1e-10)) return false;
            }
        }
    }
    return true;
}

/// The core of least squares against W itself where `fit` is against an orthonormal basis V of its rows: W = A V, so
/// G W = F V for G = F A^+.
Matrix<double> in_terms_of(const TensorTrain<double>& w, const Features& v, const Matrix<double>& fit) {
    const Index columns = w.shape().size();
    const auto wide_w = Matrix<double>::adopt(w.full().release(), w.left_rank(), columns);
    const auto wide_v = Matrix<double>::adopt(v.train.full().release(), v.train.left_rank(), columns);
    const auto a = product<double>(wide_w.view(), wide_v.view(), Op::none, Op::transpose);
    // With A = Y S Z^T, F A^+ = (F Z) S^-1 Y^T.
    const auto svd = truncated_svd<double>(a.view(), {});
    auto scaled = product<double>(fit.view(), svd.v.view());
    for (Index j = 0; j < scaled.cols(); ++j) {
        const double s = svd.sigma[static_cast<std::size_t>(j)];
        for (Index i = 0; i < scaled.rows(); ++i) scaled(i, j) *= s > 0 ? 1 / s : 0;
    }
    return product<double>(scaled.view(), svd.u.view(), Op::none, Op::transpose);
}

void restore_magnitude(Matrix<double>& personal, int exponent, const std::string& input) {
    with_exponent(max_magnitude<double>(personal.view()), exponent, input, "a personal core");
    scale_by_power(personal.data(), personal.size(), exponent, personal.data());
}

/// How the patients were fitted whose entries are not all known.
struct Incomplete {
    double fraction = 0;         ///< of all entries
    std::vector<Index> loose;    ///< patients with too little known for all directions
    std::vector<Index> unknown;  ///< patients of whom nothing is known
};

struct Fitted {
    PersonalFit fit;
    Incomplete missing;
};

/// make_squares_safe() where some values are not known.
int make_known_squares_safe(Tensor<double>& x) {
    std::vector<double> known;
    std::ranges::copy_if(x.elements(), std::back_inserter(known), [](double e) { return !std::isnan(e); });
    const int exponent = make_squares_safe(known);
    if (exponent != 0) scale_by_power(x.data(), x.size(), -exponent, x.data());
    return exponent;
}

Fitted fit_incomplete(const Tensor<double>& x, const Features& basis) {
    const auto w =
        Matrix<double>::adopt(basis.train.full().release(), basis.train.left_rank(), basis.train.shape().size());
    KnownFit known = fit_known(x.view().unfold(1), w.view());
    const auto values = x.elements();
    const auto hidden = std::count_if(values.begin(), values.end(), [](double e) { return std::isnan(e); });
    return {{std::move(known.personal), known.norm2, known.error2},
            {static_cast<double>(hidden) / static_cast<double>(x.size()), std::move(known.loose),
             std::move(known.unknown)}};
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

void add_missing(const Incomplete& missing, Json& json, std::vector<std::pair<std::string, std::string>>& rows) {
    json["missing"] = {{"fraction", missing.fraction}, {"loose", missing.loose.size()}, {"unknown", missing.unknown}};
    rows.emplace_back("missing", missing.fraction == 0 ? "nothing"
                                                       : fmt::format("{:.1f}% of the entries; each patient is fitted "
                                                                     "to what is known of it",
                                                                     100 * missing.fraction));
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

void execute(const Options& options, const Session& session) {
    const bool impute = options.missing == "impute";
    session.claim_output(options.output, std::array{options.features, options.input});
    Stopwatch watch;
    TensorTrain<double> train = read_features(options.features);
    TensorFile file = impute ? read_incomplete_tensor(options.input)
                             : read_tensor(options.input,
                                           "With --missing impute every patient is fitted to what is "
                                           "known of it.");
    require_fit(file.shape(), train, options);
    const ModeLabels labels = file.labels().empty() ? ModeLabels{} : file.labels().front();
    Tensor<double> x = std::move(file).take<double>();
    const std::string moved = follow(x, train, options);
    if (!moved.empty()) session.note(fmt::format("note: {}: {}", options.input, moved));
    const double read_seconds = watch.lap();

    const bool orthonormal = is_right_orthonormal(train);
    const Features basis = orthonormal ? Features{train.clone(), {}, true} : orthonormal_features(train);
    // The error is relative and the core linear in the patients: a power of two changes neither.
    const int exponent = impute ? make_known_squares_safe(x) : make_squares_safe(x.elements());
    Fitted fitted = impute ? fit_incomplete(x, basis) : Fitted{refit(x.view(), basis), {}};
    PersonalFit& fit = fitted.fit;
    if (!orthonormal) fit.personal = in_terms_of(train, basis, fit.personal);
    restore_magnitude(fit.personal, exponent, options.input);
    const double compute_seconds = watch.lap();
    const double rse = fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0;

    double write_seconds = 0;
    if (!options.output.empty()) {
        save_personal(options.output, fit.personal, labels,
                      {{"features", options.features}, {"rse", rse}, {"version", version()}}, session.force());
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
    if (impute) add_missing(fitted.missing, json, rows);
    if (!options.output.empty()) {
        json["output"] = options.output;
        rows.emplace_back("written", options.output);
    }
    rows.emplace_back("time", fmt::format("read {}, compute {}, write {}", seconds_text(read_seconds),
                                          seconds_text(compute_seconds), seconds_text(write_seconds)));
    session.print(json, fields(rows));
}

Action setup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_input(app, "FEATURES.npz", options->features, "Features of a federation, as couplet simulate -o writes them");
    add_input(app, "X.npy", options->input,
              "Tensor of new patients: .npy, .csv, .csv.gz or .tns; all modes but the first as in the features");
    add_unnamed_flag(app, options->unnamed);
    add_choice(app, "--missing", {"refuse", "impute"}, options->missing,
               "NaN: an error, or an entry that nobody knows. impute: every patient is fitted by least squares to what "
               "is known of it");
    add_output(app, ".npz", false, options->output, "Personal core to write; without it nothing is written");
    return [options](Session& session) { execute(*options, session); };
}

}  // namespace

extern const Verb project_verb{
    .name = "project",
    .group = federation_group,
    .summary = "embed new patients with frozen features",
    .description =
        "Finds the personal core that fits new patients best while the feature cores of a federation stay as they are. "
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
    .setup = setup};

}  // namespace couplet::cli
