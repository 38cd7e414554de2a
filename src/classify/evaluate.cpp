#include "couplet/classify/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "couplet/classify/folds.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/experiments/logistic.hpp"
#include "couplet/sim/reference.hpp"

namespace couplet {
namespace {

constexpr Index usual_rank = 10;
constexpr std::array arms{Arm::local, Arm::federated, Arm::federated_joint, Arm::centralized};
constexpr std::array models{ModelKind::logistic, ModelKind::knn};

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// The rows of a site that are in a fold, or that are not.
struct Part {
    Tensor<double> data;
    std::vector<Label> labels;
    std::vector<Index> people;  ///< their places among everybody
};

/// What a classifier learns from or predicts: people by coordinates.
struct Coordinates {
    Matrix<double> x;
    std::vector<Label> labels;
    std::vector<Index> people;
};

Part take(const LabelledSite& site, Index first_person, const std::vector<Index>& rows) {
    std::vector<Index> sizes(site.data.shape().sizes().begin(), site.data.shape().sizes().end());
    const Index width = site.data.size() / sizes[0];
    sizes[0] = static_cast<Index>(rows.size());
    Part part{rows.empty() ? Tensor<double>() : Tensor<double>(Shape(std::move(sizes))), {}, {}};
    double* target = rows.empty() ? nullptr : part.data.data();
    for (const Index row : rows) {
        target = std::copy_n(site.data.data() + row * width, width, target);
        part.labels.push_back(site.labels[at(row)]);
        part.people.push_back(first_person + row);
    }
    return part;
}

Coordinates project(const Part& part, const Features& features) {
    if (part.people.empty()) return {Matrix<double>(0, features.train.ranks().front()), {}, {}};
    return {refit(part.data.view(), features).personal, part.labels, part.people};
}

Coordinates stacked(const std::vector<Coordinates>& parts) {
    Coordinates all;
    Index rows = 0;
    for (const auto& part : parts) rows += part.x.rows();
    all.x = Matrix<double>(rows, parts.front().x.cols());
    double* target = all.x.data();
    for (const auto& part : parts) {
        target = std::copy_n(part.x.data(), part.x.size(), target);
        all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
        all.people.insert(all.people.end(), part.people.begin(), part.people.end());
    }
    return all;
}

/// Everybody's features where the sites see them: those of all sites together, and each site's own.
struct Learned {
    Features federated;
    Features centralized;
    std::vector<Features> local;
};

Features centralized_features(const MemorySource& source, Index rank) {
    return std::move(*reference_centralized(source, {.job = {.rank = rank}}).features);
}

Learned learn(const std::vector<std::shared_ptr<const Tensor<double>>>& data, Index rank) {
    const auto source = MemorySource::sharing(data);
    Learned learned{
        std::move(*simulate(source, {.job = {.rank = rank}}).features), centralized_features(source, rank), {}};
    for (const auto& own : data) learned.local.push_back(centralized_features(MemorySource::sharing({own}), rank));
    return learned;
}

/// Probabilities of people by the classes that a model knows, and which one it would name.
struct Said {
    std::vector<Label> classes;
    Matrix<double> probabilities;
    std::vector<Label> winners;
};

Said ask(ModelKind model, const Coordinates& training, const Coordinates& test, const EvaluationOptions& options) {
    if (model == ModelKind::knn) {
        auto votes = knn_votes(training.x.view(), training.labels, test.x.view(), options.neighbours);
        return {std::move(votes.classes), std::move(votes.shares), std::move(votes.winners)};
    }
    // Of two classes both have coefficients, b and -b: together they weigh half of what their difference does, and the
    // difference is what others call the coefficients.
    const std::set<Label> classes(training.labels.begin(), training.labels.end());
    const double ridge = (classes.size() == 2 ? 2 : 1) * options.ridge / static_cast<double>(training.labels.size());
    const LogisticModel logistic(training.x.view(), training.labels,
                                 {.ridge = ridge, .max_iterations = 5000, .tolerance = 1e-8});
    return {logistic.classes(), logistic.probabilities(test.x.view()), logistic.classify(test.x.view())};
}

/// The class whose probability exceeds its part of the training people by the largest factor; the more probable one
/// where several do.
Label balanced_choice(const Said& said, Index person, const std::map<Label, double>& parts) {
    std::pair<double, double> best{-1, -1};
    Label chosen = said.classes.front();
    for (std::size_t c = 0; c < said.classes.size(); ++c) {
        const double p = said.probabilities(person, static_cast<Index>(c));
        const std::pair<double, double> value{p / parts.at(said.classes[c]), p};
        if (value <= best) continue;
        best = value;
        chosen = said.classes[c];
    }
    return chosen;
}

void predict(const Coordinates& training, const Coordinates& test, const EvaluationOptions& options, Outcome& outcome) {
    if (test.people.empty()) return;
    const Said said = ask(outcome.model, training, test, options);
    std::map<Label, double> parts;
    for (const Label label : training.labels) parts[label] += 1 / static_cast<double>(training.labels.size());
    for (std::size_t i = 0; i < test.people.size(); ++i) {
        const auto row = static_cast<Index>(i);
        for (std::size_t c = 0; c < said.classes.size(); ++c) {
            outcome.probabilities(test.people[i], said.classes[c]) = said.probabilities(row, static_cast<Index>(c));
        }
        outcome.predicted[at(test.people[i])] =
            options.decision == Decision::balanced ? balanced_choice(said, row, parts) : said.winners[i];
    }
}

/// The personal cores of all sites by the same features, or by each site's own.
template <class FeaturesOfSite>
std::vector<Coordinates> project_all(const std::vector<Part>& parts, const FeaturesOfSite& features) {
    std::vector<Coordinates> all;
    for (std::size_t k = 0; k < parts.size(); ++k) all.push_back(project(parts[k], features(k)));
    return all;
}

const Features& features_for(Arm arm, const Learned& learned, std::size_t site) {
    if (arm == Arm::local) return learned.local[site];
    return arm == Arm::centralized ? learned.centralized : learned.federated;
}

void run_fold(const std::vector<Part>& training, const std::vector<Part>& test, const Learned& learned,
              const EvaluationOptions& options, std::vector<Outcome>& outcomes) {
    for (const Arm arm : arms) {
        const auto features = [&](std::size_t site) -> const Features& { return features_for(arm, learned, site); };
        std::vector<Coordinates> known = project_all(training, features);
        std::vector<Coordinates> asked = project_all(test, features);
        if (arm == Arm::federated_joint || arm == Arm::centralized) {
            Coordinates all_known = stacked(known);
            Coordinates all_asked = stacked(asked);
            known.clear();
            asked.clear();
            known.push_back(std::move(all_known));
            asked.push_back(std::move(all_asked));
        }
        for (Outcome& outcome : outcomes) {
            if (outcome.arm != arm) continue;
            for (std::size_t g = 0; g < known.size(); ++g) predict(known[g], asked[g], options, outcome);
        }
    }
}

void check(std::span<const LabelledSite> sites, Index classes, const EvaluationOptions& options) {
    if (sites.empty()) throw InputError({"sites", "none", "at least one", ""});
    for (const LabelledSite& site : sites) {
        const Index rows = site.data.shape()[0];
        if (rows < 2 || static_cast<Index>(site.labels.size()) != rows) {
            throw InputError({site.name, fmt::format("{} people with {} labels", rows, site.labels.size()),
                              "at least two people, each with a label",
                              "A site learns from some and is tested on the others; leave this one out."});
        }
        if (!site.same_as.empty() && site.same_as.size() != site.labels.size()) {
            throw InputError({site.name, fmt::format("{} people who may be the same", site.same_as.size()),
                              fmt::format("none, or {}", rows), ""});
        }
        const bool known = std::all_of(site.labels.begin(), site.labels.end(),
                                       [&](Label label) { return label >= 0 && label < classes; });
        if (!known) throw InputError({site.name, "a label that is no class", "0 to the number of classes", ""});
    }
    if (!(options.ridge > 0)) throw InputError({"`ridge`", fmt::format("{}", options.ridge), "more than 0", ""});
}

Index choose_rank(std::span<const LabelledSite> sites, const EvaluationOptions& options) {
    if (options.rank) return *options.rank;
    Index people = 0;
    for (const LabelledSite& site : sites) people += site.data.shape()[0];
    const Index features = sites.front().data.size() / sites.front().data.shape()[0];
    return std::max<Index>(1, std::min({usual_rank, features, people - people / options.folds}));
}

Evaluation empty_evaluation(std::span<const LabelledSite> sites, Index classes, const EvaluationOptions& options) {
    Evaluation evaluation;
    std::vector<Index> groups;
    for (std::size_t k = 0; k < sites.size(); ++k) {
        const auto first = static_cast<Index>(evaluation.labels.size());
        for (std::size_t i = 0; i < sites[k].labels.size(); ++i) {
            groups.push_back(first + (sites[k].same_as.empty() ? static_cast<Index>(i) : sites[k].same_as[i]));
        }
        evaluation.labels.insert(evaluation.labels.end(), sites[k].labels.begin(), sites[k].labels.end());
        evaluation.site.resize(evaluation.labels.size(), static_cast<Index>(k));
    }
    evaluation.fold = assign_folds(evaluation.labels, evaluation.site, options.folds, options.seed, groups);
    evaluation.classes = classes;
    evaluation.rank = choose_rank(sites, options);
    const auto people = static_cast<Index>(evaluation.labels.size());
    for (const Arm arm : arms) {
        for (const ModelKind model : models) {
            evaluation.outcomes.push_back(
                {arm, model, Matrix<double>::zeros(people, classes), std::vector<Label>(at(people), 0)});
        }
    }
    return evaluation;
}

/// The people of all sites that are tested in a fold, or those that are not.
std::vector<Part> parts_of(std::span<const LabelledSite> sites, const Evaluation& evaluation, Index fold, bool tested) {
    std::vector<Part> parts;
    Index first = 0;
    for (const LabelledSite& site : sites) {
        std::vector<Index> rows;
        for (Index row = 0; row < site.data.shape()[0]; ++row) {
            if ((evaluation.fold[at(first + row)] == fold) == tested) rows.push_back(row);
        }
        parts.push_back(take(site, first, rows));
        first += site.data.shape()[0];
    }
    return parts;
}

/// Nobody owns what others keep for as long as it is used.
std::shared_ptr<const Tensor<double>> borrowed(const Tensor<double>& tensor) {
    return {std::shared_ptr<const void>(), &tensor};
}

}  // namespace

std::string to_string(Arm arm) {
    switch (arm) {
        case Arm::local:
            return "local";
        case Arm::federated:
            return "federated";
        case Arm::federated_joint:
            return "federated-joint";
        case Arm::centralized:
            return "centralized";
    }
    return "";
}

std::string to_string(ModelKind model) { return model == ModelKind::logistic ? "logistic" : "knn"; }

std::string to_string(Decision decision) { return decision == Decision::balanced ? "balanced" : "probable"; }

std::string to_string(LearnFrom from) { return from == LearnFrom::training ? "training" : "all"; }

Evaluation evaluate(std::span<const LabelledSite> sites, Index classes, const EvaluationOptions& options) {
    check(sites, classes, options);
    Evaluation evaluation = empty_evaluation(sites, classes, options);
    std::optional<Learned> from_all;
    if (options.learn_from == LearnFrom::all) {
        std::vector<std::shared_ptr<const Tensor<double>>> data;
        for (const LabelledSite& site : sites) data.push_back(borrowed(site.data));
        from_all = learn(data, evaluation.rank);
    }
    for (Index fold = 0; fold < options.folds; ++fold) {
        report(options.progress, "folds", fold, options.folds);
        const std::vector<Part> training = parts_of(sites, evaluation, fold, false);
        const std::vector<Part> test = parts_of(sites, evaluation, fold, true);
        std::optional<Learned> from_training;
        if (!from_all) {
            std::vector<std::shared_ptr<const Tensor<double>>> data;
            for (const Part& part : training) data.push_back(borrowed(part.data));
            from_training = learn(data, evaluation.rank);
        }
        run_fold(training, test, from_all ? *from_all : *from_training, options, evaluation.outcomes);
    }
    report(options.progress, "folds", options.folds, options.folds);
    return evaluation;
}

Measures measure(const Evaluation& evaluation, const Outcome& outcome, std::optional<Index> site) {
    const Strata everybody{evaluation.site, evaluation.fold};
    if (!site) return measure(evaluation.labels, outcome.probabilities.view(), outcome.predicted, everybody);
    // People are in the order of the sites.
    const auto [begin, end] = std::equal_range(evaluation.site.begin(), evaluation.site.end(), *site);
    const Index first = begin - evaluation.site.begin();
    const Index count = end - begin;
    return measure(std::span(evaluation.labels).subspan(at(first), at(count)),
                   outcome.probabilities.view().rows_from(first, count),
                   std::span(outcome.predicted).subspan(at(first), at(count)),
                   {everybody.site.subspan(at(first), at(count)), everybody.fold.subspan(at(first), at(count))});
}

std::vector<ArmComparison> compare_arms(const Evaluation& evaluation) {
    const auto find = [&](Arm arm, ModelKind model) -> const Outcome& {
        return *std::find_if(evaluation.outcomes.begin(), evaluation.outcomes.end(),
                             [&](const Outcome& outcome) { return outcome.arm == arm && outcome.model == model; });
    };
    std::vector<ArmComparison> all;
    for (const ModelKind model : models) {
        for (const Arm arm : {Arm::federated, Arm::federated_joint}) {
            for (const Arm against : {Arm::local, Arm::centralized}) {
                const auto difference =
                    auc_difference(evaluation.labels, find(arm, model).probabilities.view(),
                                   find(against, model).probabilities.view(), {evaluation.site, evaluation.fold});
                if (difference) all.push_back({model, arm, against, *difference});
            }
        }
    }
    return all;
}

}  // namespace couplet
