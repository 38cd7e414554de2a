#include "couplet/experiments/classify.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/sample.hpp"
#include "couplet/experiments/feature_variance.hpp"
#include "couplet/experiments/logistic.hpp"
#include "couplet/sim/reference.hpp"

namespace couplet {
namespace {

struct People {
    Tensor<double> data;
    std::vector<Label> labels;
};

People take(const Dataset& all, std::span<const Index> rows) {
    std::vector<Index> sizes(all.tensor.shape().sizes().begin(), all.tensor.shape().sizes().end());
    const Index width = all.tensor.size() / sizes[0];
    sizes[0] = static_cast<Index>(rows.size());
    People people{Tensor<double>(Shape(std::move(sizes))), {}};
    double* target = people.data.data();
    for (const Index row : rows) {
        target = std::copy_n(all.tensor.data() + row * width, width, target);
        people.labels.push_back(all.labels[static_cast<std::size_t>(row)]);
    }
    return people;
}

Index training_count(Index people, double part) {
    return static_cast<Index>(std::llround(part * static_cast<double>(people)));
}

struct Split {
    People training;
    People test;
};

Split split_people(const Dataset& all, double part, std::uint64_t seed) {
    const Index rows = all.tensor.shape()[0];
    const auto order = sample_without_replacement(rows, rows, seed);
    const auto count = static_cast<std::size_t>(training_count(rows, part));
    const std::span<const Index> people(order);
    return {take(all, people.first(count)), take(all, people.subspan(count))};
}

/// Features in the form the refit needs.
Features orthonormal(const Features& features) {
    return features.orthonormal ? features.clone() : orthonormal_features(features.train);
}

struct Learned {
    std::string method;
    Index clients;
    Features features;
};

std::vector<Learned> learn(const Tensor<double>& people, const ClassificationOptions& options) {
    std::vector<Learned> all;
    const auto source = [&](Index clients) { return MemorySource(split_rows(people.view(), clients)); };
    const auto add = [&](const char* method, Index clients, SimulationResult result) {
        all.push_back({method, clients, std::move(*result.features)});
    };
    const JobOptions ours{.rank = options.rank};
    const JobOptions printed{.aggregate = Aggregate::average, .rank = options.rank};
    add("centralized", 1, reference_centralized(source(1), {.job = ours}));
    for (const Index clients : options.clients) {
        add("ctt", clients, simulate(source(clients), {.job = ours}));
        add("printed", clients, simulate(source(clients), {.job = printed}));
    }
    return all;
}

using Key = std::tuple<std::string, Index, Classifier, Index>;
struct Samples {
    std::vector<double> training;
    std::vector<double> test;
};

/// Scores of all methods, kept in the order in which they first come.
class Board {
  public:
    void add(const Key& key, double training, double test) {
        const auto [at, is_new] = samples_.try_emplace(key);
        if (is_new) order_.push_back(key);
        at->second.training.push_back(training);
        at->second.test.push_back(test);
    }
    std::vector<ClassificationScore> scores() const {
        std::vector<ClassificationScore> result;
        for (const Key& key : order_) {
            const Samples& all = samples_.at(key);
            const auto& [method, clients, classifier, features] = key;
            result.push_back({method, clients, classifier, features, summarise(all.training), summarise(all.test)});
        }
        return result;
    }

  private:
    std::map<Key, Samples> samples_;
    std::vector<Key> order_;
};

void score(const Learned& learned, const Split& split, const ClassificationOptions& options, Board& board) {
    const auto& known = split.training.labels;
    const auto& hidden = split.test.labels;
    const auto by_neighbours = [&](const Matrix<double>& training, const Matrix<double>& test, Classifier classifier,
                                   Index features) {
        const auto on_training = knn_classify(training.view(), known, training.view(), options.neighbours);
        const auto on_test = knn_classify(training.view(), known, test.view(), options.neighbours);
        board.add({learned.method, learned.clients, classifier, features}, accuracy(known, on_training),
                  accuracy(hidden, on_test));
    };
    const auto variances = feature_variances(learned.features);
    for (const Index m : options.features) {
        const auto kept = most_variable(variances, m);
        by_neighbours(restrict_to(split.training.data.view(), kept), restrict_to(split.test.data.view(), kept),
                      Classifier::knn_features, m);
    }
    const Features frozen = orthonormal(learned.features);
    const Matrix<double> training = refit(split.training.data.view(), frozen).personal;
    const Matrix<double> test = refit(split.test.data.view(), frozen).personal;
    by_neighbours(training, test, Classifier::knn_personal, 0);
    const LogisticModel logistic(training.view(), known);
    board.add({learned.method, learned.clients, Classifier::logistic_personal, 0},
              accuracy(known, logistic.classify(training.view())), accuracy(hidden, logistic.classify(test.view())));
}

double majority_accuracy(const Split& split) {
    std::map<Label, Index> votes;
    for (const Label label : split.training.labels) ++votes[label];
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return accuracy(split.test.labels, std::vector<Label>(split.test.labels.size(), most->first));
}

void check(const Dataset& people, const ClassificationOptions& options, std::size_t classes) {
    const Index rows = people.tensor.shape()[0];
    if (people.labels.empty()) {
        throw InputError(
            {"labels", "none", "a class for every person", "couplet data diabetes and couplet data ecg write them."});
    }
    if (static_cast<Index>(people.labels.size()) != rows) {
        throw InputError({"labels", std::to_string(people.labels.size()),
                          std::to_string(rows) + ", one per index of the first mode", ""});
    }
    if (classes < 2) throw InputError({"labels", "one class", "at least two", ""});
    if (options.splits < 1) throw InputError({"`splits`", std::to_string(options.splits), "at least 1", ""});
    const Index count = training_count(rows, options.training);
    if (!(options.training > 0 && options.training < 1) || count < 2 || rows - count < 1) {
        throw InputError({"people", std::to_string(rows), "enough for a training and a test part",
                          "Use more rows, or another part for training."});
    }
}

}  // namespace

std::string to_string(Classifier classifier) {
    switch (classifier) {
        case Classifier::knn_features:
            return "knn-features";
        case Classifier::knn_personal:
            return "knn-personal";
        case Classifier::logistic_personal:
            return "logistic-personal";
    }
    return "";
}

Index largest_rank(const Dataset& people, const ClassificationOptions& options) {
    const Index rows = people.tensor.shape()[0];
    const Index most = options.clients.empty() ? 1 : *std::max_element(options.clients.begin(), options.clients.end());
    const Index smallest = training_count(rows, options.training) / std::max<Index>(1, most);
    return std::max<Index>(1, std::min(smallest, rows > 0 ? people.tensor.size() / rows : 1));
}

ClassificationResult classify(const Dataset& people, const ClassificationOptions& options) {
    const std::set<Label> classes(people.labels.begin(), people.labels.end());
    check(people, options, classes.size());
    Board board;
    std::vector<double> majority;
    for (Index s = 0; s < options.splits; ++s) {
        report(options.progress, "splits", s, options.splits);
        const Split split = split_people(people, options.training, options.seed + static_cast<std::uint64_t>(s));
        for (const Learned& learned : learn(split.training.data, options)) score(learned, split, options, board);
        majority.push_back(majority_accuracy(split));
    }
    report(options.progress, "splits", options.splits, options.splits);
    return {board.scores(), summarise(majority), people.tensor.shape()[0], static_cast<Index>(classes.size())};
}

}  // namespace couplet
