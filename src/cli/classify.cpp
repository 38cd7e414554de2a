#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "classify_report.hpp"
#include "classify_sites.hpp"
#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/experiments/classify.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "phase_lines.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr Index default_rank = 50;
constexpr Index default_splits = 10;

struct ClassifyArguments {
    ClassifyInput input;
    std::string predictions;
    std::optional<Index> rank;
    std::vector<Index> features = {5};
    std::vector<Index> clients = {2, 4, 8};
    Index neighbours = 5;
    std::optional<Index> splits;
    Index folds = 5;
    double ridge = 1;
    std::string decide = "balanced";
    std::string learn_from = "training";
};

/// "2,4,8".
std::vector<Index> parse_list(const Count& count, const std::string& text) {
    std::vector<Index> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        values.push_back(parse_count(count, std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
    }
    return values;
}

double parse_ridge(const std::string& text) {
    double value = 0;
    if (text.empty() || parse_number(text, value) != NumberText::number || !(value > 0) || std::isinf(value)) {
        throw InputError({"--ridge", shown(text), "a number above 0", "1 is usual."});
    }
    return value;
}

Json scores_json(const ClassificationResult& result) {
    Json scores = Json::array();
    for (const auto& score : result.scores) {
        Json one{{"method", score.method}, {"clients", score.clients}, {"classifier", to_string(score.classifier)}};
        if (score.features > 0) one["features"] = score.features;
        one["training_accuracy"] = score.training.mean;
        one["test_accuracy"] = score.test.mean;
        one["test_accuracy_sd"] = score.test.sd;
        scores.push_back(std::move(one));
    }
    return scores;
}

std::string percent(double part) { return fmt::format("{:.1f}%", 100 * part); }

std::string method_text(const ClassificationScore& score) {
    if (score.method == "centralized") return "centralized";
    return fmt::format("{}, K = {}", score.method == "ctt" ? "federated" : "Zhang et al. 2024", score.clients);
}

std::string classifier_text(const ClassificationScore& score, Index neighbours) {
    switch (score.classifier) {
        case Classifier::knn_features:
            return fmt::format("{} features, kNN {}", score.features, neighbours);
        case Classifier::knn_personal:
            return fmt::format("personal core, kNN {}", neighbours);
        case Classifier::logistic_personal:
            return "personal core, logistic";
    }
    return "";
}

std::string scores_text(const ClassificationResult& result, const ClassificationOptions& how) {
    std::vector<std::vector<std::string>> rows{{"features of", "training", "test", "+-", "classifier"}};
    for (const auto& score : result.scores) {
        rows.push_back({method_text(score), percent(score.training.mean), percent(score.test.mean),
                        percent(score.test.sd), classifier_text(score, how.neighbours)});
    }
    return table(rows) + "\n" +
           fields({{"people",
                    fmt::format("{} in {} classes, {} splits", count_text(result.people), result.classes, how.splits)},
                   {"rank", count_text(how.rank)},
                   {"majority",
                    fmt::format("{} by always guessing the most frequent class", percent(result.majority.mean))}});
}

ClassificationOptions experiment_options(const ClassifyArguments& options, const Session& session) {
    return {.features = options.features,
            .neighbours = options.neighbours,
            // Several sites are compared with each other; one data set is what the paper's experiment is about.
            .splits = options.splits.value_or(options.input.data.size() > 1 ? 0 : default_splits),
            .clients = options.clients,
            .seed = session.seed(),
            .progress = phase_lines(session)};
}

EvaluationOptions evaluation_options(const ClassifyArguments& options, const Session& session) {
    return {.rank = options.rank,
            .neighbours = options.neighbours,
            .folds = options.folds,
            .ridge = options.ridge,
            .decision = options.decide == "balanced" ? Decision::balanced : Decision::probable,
            .learn_from = options.learn_from == "training" ? LearnFrom::training : LearnFrom::all,
            .seed = session.seed(),
            .progress = phase_lines(session)};
}

/// Refuses before the work starts what could not be written at its end.
void claim_predictions(const ClassifyArguments& options, Index sites, const Session& session) {
    const std::filesystem::path folder = options.predictions;
    if (folder.empty() || !std::filesystem::exists(folder)) return;
    if (!std::filesystem::is_directory(folder)) {
        throw InputError(
            {"--predictions", folder.string() + ", which is a file", "a folder, or a place to make one", ""});
    }
    for (const auto& file : prediction_files(folder, sites)) {
        session.claim_output(file.string(), options.input.labels);
    }
}

void execute_classify(ClassifyArguments& options, const Session& session) {
    options.input.deal = options.clients.front();
    const ClassifyPeople people = read_people(options.input);
    claim_predictions(options, static_cast<Index>(people.sites.size()), session);
    ClassificationOptions how = experiment_options(options, session);
    ClassificationResult experiment;
    if (how.splits > 0) {
        const Dataset pooled = people.pooled();
        how.rank = options.rank.value_or(std::min(default_rank, largest_rank(pooled, how)));
        experiment = classify(pooled, how);
    }
    const EvaluationOptions validation = evaluation_options(options, session);
    const Evaluation evaluation = evaluate(people.sites, static_cast<Index>(people.classes.names.size()), validation);
    Json evaluated = evaluation_json(people, evaluation, validation);
    if (!options.predictions.empty()) {
        evaluated["predictions"] = Json::array();
        for (const auto& file :
             write_predictions(options.predictions, evaluation, people.who, people.classes.names, session.force())) {
            evaluated["predictions"].push_back(file.string());
        }
    }
    const double majority =
        how.splits > 0 ? experiment.majority.mean : measure(evaluation, evaluation.outcomes.front()).majority;
    const Json json{{"scores", scores_json(experiment)},
                    {"majority_accuracy", majority},
                    {"people", evaluation.labels.size()},
                    {"classes", evaluation.classes},
                    {"rank", how.splits > 0 ? how.rank : evaluation.rank},
                    {"neighbours", how.neighbours},
                    {"splits", how.splits},
                    {"evaluation", std::move(evaluated)},
                    {"seed", session.seed()},
                    {"version", version()}};
    std::string text = evaluation_text(people, evaluation, validation);
    if (how.splits > 0) text += "\nThe experiment of Zhang et al. 2024\n\n" + scores_text(experiment, how);
    session.print(json, text);
}

void add_list(Command& app, const Count& count, std::vector<Index>& values, const std::string& description) {
    app.add_option(
           count.option, [&values, count](const std::string& text) { values = parse_list(count, text); }, description)
        .type(count.letter)
        .standard(fmt::format("{}", fmt::join(values, ",")));
}

Action set_up_classify(Command& app) {
    auto options = std::make_shared<ClassifyArguments>();
    app.add_option("DATA", options->input.data,
                   "A folder that couplet data or couplet table wrote, or a tensor file; several: each is a site")
        .type("DIR")
        .required();
    app.add_option("--labels", options->input.labels,
                   "Where the data brings no labels: a table (csv, tsv, ndjson, gzip) or .npy; one, or one per site")
        .type("FILE...");
    app.add_option("--label-column", options->input.columns.label, "Column of the table that holds the label")
        .type("COL");
    app.add_option("--id-column", options->input.columns.patient, "Column of the table that holds the identifier")
        .type("COL");
    app.add_option("--predictions", options->predictions,
                   "Folder for predictions_<k>.csv of each site, with identifiers, readable by you alone")
        .type("DIR");
    app.add_option(
           "--rank",
           [options](const std::string& text) {
               options->rank = parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max(), ""}, text);
           },
           "Rank R1 between people and features")
        .type("R")
        .standard("10; 50 in the experiment; or what the data gives");
    add_list(app, {"--features", "M,...", 1, 1'000'000, "For example: 5 or 2,5,10"}, options->features,
             "How many indices of largest variance to keep, over all feature modes");
    add_list(app, {"--clients", "K,...", 1, 1'000'000, "For example: 4 or 2,4,8"}, options->clients,
             "Federations to compare with the centralized decomposition");
    add_count(app, {"--neighbours", "K", 1, 1'000'000, "The paper does not say; 5 is usual."}, options->neighbours,
              "Neighbours that vote");
    add_count(app, {"--folds", "N", 2, 10'000, "Five or ten are usual."}, options->folds,
              "Folds of the cross-validation");
    app.add_option(
           "--ridge", [options](const std::string& text) { options->ridge = parse_ridge(text); },
           "Weight of the squared coefficients beside the sum of the losses; 1/C of scikit-learn")
        .type("L")
        .standard("1");
    add_choice(app, "--decide", {"balanced", "probable"}, options->decide,
               "Predict the class that gains most on its share, or the most probable one");
    add_choice(app, "--learn-from", {"training", "all"}, options->learn_from,
               "Whose data the features are learned from");
    app.add_option(
           "--splits",
           [options](const std::string& text) {
               options->splits =
                   parse_count({"--splits", "N", 0, 10'000, "The paper uses ten; 0 leaves it out."}, text);
           },
           "The paper's experiment: random splits, seven parts for training and three for the test; 0: without it")
        .type("N")
        .standard("10, 0 with several sites");
    return [options](Session& session) { execute_classify(*options, session); };
}

}  // namespace

extern const Verb classify_verb{
    .name = "classify",
    .group = federation_group,
    .summary = "predict classes from the features of a federation",
    .description =
        "Predicts a label of every person by cross-validation, in four arms: local (each site's own decomposition and "
        "classifier), federated (the features of all sites, each site's own classifier), federated-joint (the same "
        "features, one classifier for all sites) and centralized (all data in one place). In each fold the features "
        "and "
        "the classifiers, logistic regression and nearest neighbours on the personal cores, are learned from the "
        "training people alone.\n\n"
        "Labels come with a folder that couplet data wrote, or from any table: one with a column of identifiers is "
        "matched with patients.csv of couplet table, one without belongs to the rows in their order. Empty cells, NA, "
        "NaN, null, . and ? are missing labels: such people are left out and counted. A patient at two sites is "
        "refused. Records without identifiers that are the same at one site are kept in one fold.\n\n"
        "Then the experiment of Zhang et al. 2024. People are split at random, seven to three. On the training people "
        "alone the feature cores are learned: centralized, and by stars of several numbers of clients, with our merge "
        "and with theirs. Every index of every feature mode has a slice of its core; the indices whose slices have the "
        "largest variance are kept, a person is its data in those indices, and its nearest neighbours among the "
        "training "
        "people vote. Beside it is what one would do instead: every person's personal core.",
    .output =
        "AUC: area under the ROC curve, mean over classes against the rest, of pairs of people of the same site and "
        "fold: a site's share of a class is no skill; balanced accuracy: mean over the classes "
        "of "
        "the part predicted right; both with 95% intervals. Brier: squared error of the probabilities; ECE: expected "
        "calibration error. AUC gained: differences between arms on the same people, logistic regression.\n"
        "training, test: part of the people classified correctly, mean over the splits; +-: standard deviation over "
        "the splits, of the test.\n"
        "--json: scores [{method (centralized, ctt, printed), clients, classifier (knn-features, knn-personal, "
        "logistic-personal), features, training_accuracy, test_accuracy, test_accuracy_sd}], majority_accuracy, "
        "people, classes, rank, neighbours, splits, evaluation {class_names, class_counts, people, unlabelled, folds, "
        "rank, neighbours, ridge, decide, learn_from, confidence, sites, results [{arm, model, people, auc, "
        "auc_interval, auc_pairs, balanced_accuracy, balanced_accuracy_interval, accuracy, accuracy_interval, "
        "majority_share, "
        "brier, calibration_error, confusion, calibration, per_class, sites}], verdict {sentence, beats_guessing, "
        "beats_alone}, comparisons, notes, predictions}, seed, "
        "version.",
    .examples =
        "couplet classify diabetes\n"
        "couplet classify north south --labels outcomes.csv --label-column died --predictions out\n"
        "couplet classify diabetes --clients 4 --features 2,5,10 --splits 3\n"
        "couplet classify X.npy --labels y.npy --rank 5 --clients 2",
    .common = "labels label-column id-column predictions rank clients folds",
    .setup = set_up_classify};

}  // namespace couplet::cli
