#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couplet/classify/metrics.hpp"
#include "couplet/core/progress.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What a site knows: people by features, and the class of each (0 ... C - 1).
struct LabelledSite {
    std::string name = {};
    Tensor<double> data = {};
    std::vector<Label> labels = {};
    /// Of each person the first one here that may be the same: they are learned from together or tested together.
    /// Empty: everybody is somebody else.
    std::vector<Index> same_as = {};
};

/// Who learns from whom.
enum class Arm {
    local,            ///< every site alone: its own decomposition, its own classifier
    federated,        ///< the features of all sites, each site's own classifier on its own personal core
    federated_joint,  ///< the features of all sites and one classifier for all: its sums would have to travel too
    centralized,      ///< all data in one place
};
enum class ModelKind { logistic, knn };

/// Which class is predicted: the most probable one, or the one whose probability exceeds its part of the training
/// people by the largest factor, which is the rule that balanced accuracy asks for.
enum class Decision { balanced, probable };

/// Whose data (never whose labels) the features are learned from.
enum class LearnFrom { training, all };

std::string to_string(Arm arm);
std::string to_string(ModelKind model);
std::string to_string(Decision decision);
std::string to_string(LearnFrom from);

struct EvaluationOptions {
    std::optional<Index> rank = {};  ///< R1; nothing: 10, or as many as there are features or training people
    Index neighbours = 5;
    Index folds = 5;
    /// Weight of 1/2 ||B||^2 beside the sum of the losses, on standardised columns; B is one vector for two classes and
    /// one per class for more: 1/C of scikit-learn.
    double ridge = 1;
    Decision decision = Decision::balanced;
    LearnFrom learn_from = LearnFrom::training;
    std::uint64_t seed = 0;
    ProgressSink progress = {};
};

/// What one classifier said of everybody, each person by a model that had not seen its label.
struct Outcome {
    Arm arm = Arm::local;
    ModelKind model = ModelKind::logistic;
    Matrix<double> probabilities = {};  ///< people x classes, rows sum to 1; people in the order of the sites
    std::vector<Label> predicted = {};
};

struct Evaluation {
    std::vector<Label> labels = {};  ///< of everybody
    std::vector<Index> site = {};    ///< of everybody, from 0
    std::vector<Index> fold = {};    ///< in which each was tested, from 0
    std::vector<Outcome> outcomes = {};
    Index classes = 0;
    Index rank = 0;
};

/// Cross-validation of all arms and models. People are dealt by assign_folds(); for each fold the features are learned
/// from the training people (or from everybody, see LearnFrom), the classifiers from the personal cores of the training
/// people, and the people of the fold are projected on the features and predicted. Labels of a fold never reach what
/// predicts it. A class that the training people of a model lack has probability 0 there. Sites must have the same
/// features in the same order. Throws InputError for fewer than two people at a site or two folds, for sizes that
/// disagree, and as simulate() does.
Evaluation evaluate(std::span<const LabelledSite> sites, Index classes, const EvaluationOptions& options);

/// The measures of one outcome, of everybody or of one site. Areas compare people of the same site and fold.
Measures measure(const Evaluation& evaluation, const Outcome& outcome, std::optional<Index> site = {});

/// How much larger the area of one arm is than that of another, same model and same pairs of people.
struct ArmComparison {
    ModelKind model = ModelKind::logistic;
    Arm arm = Arm::federated;
    Arm against = Arm::local;
    Estimate auc_difference = {};
};
/// Both federated arms against local and centralized.
std::vector<ArmComparison> compare_arms(const Evaluation& evaluation);

}  // namespace couplet
