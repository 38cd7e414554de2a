#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/data/dataset.hpp"
#include "couplet/experiments/knn.hpp"
#include "couplet/experiments/statistic.hpp"

namespace couplet {

struct ClassificationOptions {
    Index rank = 50;                    ///< R1
    std::vector<Index> features = {5};  ///< m, the numbers of feature indices to keep
    Index neighbours = 5;
    Index splits = 10;
    double training = 0.7;             ///< part of the people, 0 < training < 1
    std::vector<Index> clients = {4};  ///< the federations
    std::uint64_t seed = 0;
    ProgressSink progress = {};
};

/// How a person is classified: kNN on its data in the most variable indices (the paper's), or on its personal core,
/// which is what a user would do, with kNN or logistic regression.
enum class Classifier { knn_features, knn_personal, logistic_personal };

std::string to_string(Classifier classifier);

struct ClassificationScore {
    std::string method;  ///< "centralized", "ctt" (our default in a star), "printed" (the average)
    Index clients = 1;
    Classifier classifier = Classifier::knn_features;
    Index features = 0;  ///< m; 0 for the personal cores
    Statistic training;  ///< accuracy on the people learned from
    Statistic test;
};

struct ClassificationResult {
    std::vector<ClassificationScore> scores;
    Statistic majority;  ///< test accuracy of always guessing the most frequent class of the training people
    Index people = 0;
    Index classes = 0;
};

/// The paper's classification experiment. People are split at random, `splits` times. On the training people alone the
/// cores are learned, centralized and by a star of each number of clients; the feature_variances() of the cores choose
/// m indices; a person's vector is restrict_to() them. Beside it everybody's personal core, the projection on the
/// frozen features. Throws InputError without labels, with fewer than two classes or people on either side, and as
/// simulate() does, for example when the rank exceeds what a client of the printed method can give.
ClassificationResult classify(const Dataset& people, const ClassificationOptions& options);

/// The largest rank that every client can give when `people` are split and dealt as above.
Index largest_rank(const Dataset& people, const ClassificationOptions& options);

}  // namespace couplet
