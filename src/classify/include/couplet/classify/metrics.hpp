#pragma once

#include <optional>
#include <span>
#include <vector>

#include "couplet/experiments/knn.hpp"

namespace couplet {

/// How well probabilities foretell classes. Classes are 0 ... C - 1; row i of `probabilities` (people x C) belongs to
/// label i. All intervals hold 95% and treat the people as drawn independently and the predictions as given: they do
/// not know that the same people were used to learn.

struct Interval {
    double low = 0;
    double high = 0;
};

struct Estimate {
    double value = 0;
    std::optional<Interval> interval = {};  ///< none where there are too few people to tell
};

/// Wilson's interval of a part of `count` > 0.
Interval wilson_interval(double part, double count);

/// Where each person was tested. Only people of the same site and fold are compared with each other: scores of
/// different classifiers have no common scale, and what tells sites or folds apart (how many of them are ill) is no
/// skill in telling their people apart. Empty: all at one site, all in one fold.
struct Strata {
    std::span<const Index> site = {};
    std::span<const Index> fold = {};
};

/// Area under the ROC curve by Mann and Whitney (ties count half): of the pairs of somebody of a class and somebody of
/// another within a stratum, the part in the right order; mean over the classes that are in such pairs. With one
/// stratum, two classes and rows that sum to one it is the usual area; with several it is the mean of theirs by their
/// pairs. Nothing where no stratum has two classes. The interval is DeLong's (1988) on the logit scale, the placements
/// varying about the mean of their class and site (of their class, where one of its sites has one person); where its
/// variance is zero (all people in order), Wilson's for as many people as the smallest class has. None where a class
/// has one person.
std::optional<Estimate> auc(std::span<const Label> labels, MatrixView<const double> probabilities,
                            const Strata& strata = {});

/// Area of `a` minus area of `b` on the same people, with DeLong's paired interval.
std::optional<Estimate> auc_difference(std::span<const Label> labels, MatrixView<const double> a,
                                       MatrixView<const double> b, const Strata& strata = {});

/// Areas of the classes one by one; nothing for a class that is in no pair.
std::vector<std::optional<double>> class_aucs(std::span<const Label> labels, MatrixView<const double> probabilities,
                                              const Strata& strata = {});

/// confusion[t][p]: people of class t that were predicted to be p.
using Confusion = std::vector<std::vector<Index>>;
Confusion confusion_of(std::span<const Label> labels, std::span<const Label> predicted, Index classes);

/// Part predicted right, with Wilson's interval. Throws InputError when there is nobody.
Estimate accuracy_of(const Confusion& confusion);
/// Mean over the classes that occur of the part predicted right; the interval adds up Wilson's of the classes (MOVER;
/// Zou and Donner 2008). Throws InputError when there is nobody.
Estimate balanced_accuracy_of(const Confusion& confusion);

/// People of similar predicted probability: what was foretold and what happened.
struct CalibrationBin {
    Index people = 0;
    double predicted = 0;  ///< mean probability
    double observed = 0;   ///< part of them that has the class
};

struct Calibration {
    std::vector<CalibrationBin> bins;  ///< ascending; up to ten of about equal size, equal probabilities together
    double error = 0;                  ///< expected calibration error: mean over people of |predicted - observed|
    double brier = 0;                  ///< mean squared error of the probabilities; see calibrate()
};

/// With two classes of the probability of class 1, and Brier's score is the mean of (p - y)^2; with more, of the
/// probability of the most probable class, and Brier's score sums the squares over the classes.
Calibration calibrate(std::span<const Label> labels, MatrixView<const double> probabilities);

/// All of the above for some people.
struct Measures {
    Index people = 0;
    std::optional<Estimate> auc = {};
    Index auc_pairs = 0;   ///< people of two classes in one stratum, of whom the area is
    Index auc_people = 0;  ///< people in any such pair
    Estimate balanced_accuracy = {};
    Estimate accuracy = {};
    double majority = 0;  ///< part of the people that the most frequent class has
    Calibration calibration = {};
    Confusion confusion = {};
    std::vector<std::optional<double>> class_aucs = {};
};

/// Throws InputError when there is nobody, when sizes differ, or for labels that are no class.
Measures measure(std::span<const Label> labels, MatrixView<const double> probabilities,
                 std::span<const Label> predicted, const Strata& strata = {});

}  // namespace couplet
