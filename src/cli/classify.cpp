#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/data/client_folder.hpp"
#include "couplet/experiments/classify.hpp"
#include "couplet/io/text.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "phase_lines.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr Index default_rank = 50;

struct Options {
    std::string input;
    std::string labels;
    std::optional<Index> rank;
    std::vector<Index> features = {5};
    std::vector<Index> clients = {2, 4, 8};
    Index neighbours = 5;
    Index splits = 10;
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

// What fills them, fills all people of a client together: the test persons would have a say in what is learned.
constexpr const char* missing_remedy =
    "classify takes complete data only; leave these people or features out, or fill the entries first.";

Dataset read_people(const Options& options) {
    if (!std::filesystem::exists(options.input)) {
        throw InputError({options.input, "no such file or folder", "a folder that couplet data wrote, or a tensor file",
                          "Check the path."});
    }
    if (std::filesystem::is_directory(options.input)) {
        if (!options.labels.empty()) {
            throw InputError({"--labels", "given with a folder", "it with one tensor file",
                              "The folder names the labels of its clients itself."});
        }
        Dataset people = read_clients(options.input);
        require_complete(people.tensor.view(), options.input, missing_remedy);
        if (people.labels.empty()) {
            throw InputError({options.input, "clients without labels", "a class for every person",
                              "couplet data ecg and couplet data diabetes write them."});
        }
        return people;
    }
    if (options.labels.empty()) {
        throw InputError({"--labels", "missing", "a file with a class for every person",
                          "Or name a folder that couplet data wrote."});
    }
    Dataset people{.tensor = read_tensor(options.input, missing_remedy).take<double>()};
    people.labels = read_labels(options.labels);
    if (people.tensor.shape().order() < 2) {
        throw InputError({options.input, fmt::format("a tensor of order {}", people.tensor.shape().order()),
                          "at least two modes: people and a feature", ""});
    }
    return people;
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

void execute(const Options& options, const Session& session) {
    const Dataset people = read_people(options);
    ClassificationOptions how{.features = options.features,
                              .neighbours = options.neighbours,
                              .splits = options.splits,
                              .clients = options.clients,
                              .seed = session.seed(),
                              .progress = phase_lines(session)};
    how.rank = options.rank.value_or(std::min(default_rank, largest_rank(people, how)));
    const ClassificationResult result = classify(people, how);
    Json json{{"scores", scores_json(result)},
              {"majority_accuracy", result.majority.mean},
              {"people", result.people},
              {"classes", result.classes},
              {"rank", how.rank},
              {"neighbours", how.neighbours},
              {"splits", how.splits},
              {"seed", session.seed()},
              {"version", version()}};
    session.print(json, scores_text(result, how));
}

void add_list(CLI::App& app, const Count& count, std::vector<Index>& values, const std::string& description) {
    app.add_option_function<std::string>(
           count.option, [&values, count](const std::string& text) { values = parse_list(count, text); }, description)
        ->type_name(count.letter)
        ->default_str(fmt::format("{}", fmt::join(values, ",")));
}

Action setup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("DATA", options->input, "A folder that couplet data wrote with labels, or one tensor file")
        ->type_name("DIR")
        ->required();
    app.add_option("--labels", options->labels, "For a tensor file: .npy with a class for every person")
        ->type_name("FILE.npy");
    app.add_option_function<std::string>(
           "--rank",
           [options](const std::string& text) {
               options->rank = parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max(), ""}, text);
           },
           "Rank R1 between people and features")
        ->type_name("R")
        ->default_str("50, or what the smallest client can give");
    add_list(app, {"--features", "M,...", 1, 1'000'000, "For example: 5 or 2,5,10"}, options->features,
             "How many indices of largest variance to keep, over all feature modes");
    add_list(app, {"--clients", "K,...", 1, 1'000'000, "For example: 4 or 2,4,8"}, options->clients,
             "Federations to compare with the centralized decomposition");
    add_count(app, {"--neighbours", "K", 1, 1'000'000, "The paper does not say; 5 is usual."}, options->neighbours,
              "Neighbours that vote");
    add_count(app, {"--splits", "N", 1, 10'000, "The paper uses ten."}, options->splits,
              "Random splits into seven parts for training and three for the test");
    return [options](Session& session) { execute(*options, session); };
}

}  // namespace

extern const Verb classify_verb{
    .name = "classify",
    .group = federation_group,
    .summary = "predict classes from the features of a federation",
    .description =
        "People are split at random, seven to three. On the training people alone the feature cores are learned: "
        "centralized, and by stars of several numbers of clients, with our merge and with that of Zhang et al. 2024. "
        "Every "
        "index of every feature mode has a slice of its core; the indices whose slices have the largest variance are "
        "kept, a person is its data in those indices, and its nearest neighbours among the training people vote.\n\n"
        "Beside it is what one would do instead: every person's personal core, its coordinates in the learned "
        "features, with nearest neighbours and with logistic regression.",
    .output =
        "training, test: part of the people classified correctly, mean over the splits; +-: standard deviation over "
        "the splits, of the test.\n"
        "--json: scores [{method (centralized, ctt, printed), clients, classifier (knn-features, knn-personal, "
        "logistic-personal), features, training_accuracy, test_accuracy, test_accuracy_sd}], majority_accuracy, "
        "people, classes, rank, neighbours, splits, seed, version.",
    .examples =
        "couplet classify diabetes\n"
        "couplet classify diabetes --clients 4 --features 2,5,10 --splits 3\n"
        "couplet classify X.npy --labels y.npy --rank 5 --clients 2",
    .setup = setup};

}  // namespace couplet::cli
