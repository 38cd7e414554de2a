#include "couplet/classify/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr double z95 = 1.959963984540054;  // 97.5% quantile of the standard normal distribution

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

std::vector<Index> class_counts(std::span<const Label> labels, Index classes) {
    std::vector<Index> counts(at(classes), 0);
    for (const Label label : labels) ++counts[at(label)];
    return counts;
}

void require_fit(std::span<const Label> labels, MatrixView<const double> probabilities) {
    const bool known = std::all_of(labels.begin(), labels.end(),
                                   [&](Label label) { return label >= 0 && label < probabilities.cols; });
    if (labels.empty() || static_cast<Index>(labels.size()) != probabilities.rows || !known) {
        throw InputError({"predictions",
                          std::to_string(probabilities.rows) + " for " + std::to_string(labels.size()) + " labels in " +
                              std::to_string(probabilities.cols) + " classes",
                          "one for each label, each label one of the classes", ""});
    }
}

/// People who are compared with each other.
using Block = std::vector<Index>;

std::vector<Block> blocks_of(std::size_t people, const Strata& strata) {
    for (const auto& part : {strata.site, strata.fold}) {
        if (part.empty() || part.size() == people) continue;
        throw InputError({"strata", std::to_string(part.size()), std::to_string(people) + ", one per person", ""});
    }
    std::map<std::pair<Index, Index>, Block> blocks;
    for (std::size_t i = 0; i < people; ++i) {
        blocks[{strata.site.empty() ? 0 : strata.site[i], strata.fold.empty() ? 0 : strata.fold[i]}].push_back(
            static_cast<Index>(i));
    }
    std::vector<Block> all;
    for (auto& [where, block] : blocks) all.push_back(std::move(block));
    return all;
}

/// Who is compared with how many.
struct Pairs {
    Matrix<double> met = {};       ///< people x classes: people of the class whom one who is not of it meets in its
                                   ///< block, and people of other classes whom one of the class meets
    std::vector<double> all = {};  ///< by class: pairs of one of the class with one of another
    std::vector<bool> any = {};    ///< people who are in a pair

    double classes() const {
        return static_cast<double>(std::count_if(all.begin(), all.end(), [](double n) { return n > 0; }));
    }
};

Pairs pairs_of(std::span<const Label> labels, const std::vector<Block>& blocks, Index classes) {
    Pairs pairs{Matrix<double>::zeros(static_cast<Index>(labels.size()), classes), std::vector<double>(at(classes), 0),
                std::vector<bool>(labels.size(), false)};
    for (const Block& block : blocks) {
        std::vector<double> counts(at(classes), 0);
        for (const Index i : block) ++counts[at(labels[at(i)])];
        const auto people = static_cast<double>(block.size());
        for (std::size_t c = 0; c < counts.size(); ++c) pairs.all[c] += counts[c] * (people - counts[c]);
        for (const Index i : block) {
            pairs.any[at(i)] = counts[at(labels[at(i)])] < people;
            for (Index c = 0; c < classes; ++c) {
                pairs.met(i, c) = labels[at(i)] == c ? people - counts[at(c)] : counts[at(c)];
            }
        }
    }
    return pairs;
}

/// For a person of the class how many of the others in the block are less probable, for another person how many of the
/// class are more probable; equal ones count half. Divided by those met these are DeLong's placements.
void place(const Block& block, std::span<const Label> labels, MatrixView<const double> probabilities, Index c,
           Matrix<double>& placed) {
    Block order = block;
    const auto score = [&](Index i) { return probabilities(i, c); };
    const auto is_own = [&](Index i) { return labels[at(i)] == c; };
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return score(a) < score(b); });
    const auto own = static_cast<double>(std::count_if(order.begin(), order.end(), is_own));
    double own_below = 0;
    double others_below = 0;
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin;
        double own_equal = 0;
        for (; end < order.size() && score(order[end]) == score(order[begin]); ++end) {
            own_equal += is_own(order[end]) ? 1 : 0;
        }
        const double others_equal = static_cast<double>(end - begin) - own_equal;
        for (; begin < end; ++begin) {
            placed(order[begin], c) =
                is_own(order[begin]) ? others_below + others_equal / 2 : own - own_below - own_equal / 2;
        }
        own_below += own_equal;
        others_below += others_equal;
    }
}

Matrix<double> placements(std::span<const Label> labels, MatrixView<const double> probabilities,
                          const std::vector<Block>& blocks) {
    auto placed = Matrix<double>::zeros(probabilities.rows, probabilities.cols);
    for (const Block& block : blocks) {
        for (Index c = 0; c < probabilities.cols; ++c) place(block, labels, probabilities, c, placed);
    }
    return placed;
}

/// Area of each class against the others; zero for a class without pairs.
std::vector<double> areas_of(std::span<const Label> labels, const Matrix<double>& placed, const Pairs& pairs) {
    std::vector<double> areas(pairs.all.size(), 0);
    for (std::size_t i = 0; i < labels.size(); ++i) areas[at(labels[i])] += placed(static_cast<Index>(i), labels[i]);
    for (std::size_t c = 0; c < areas.size(); ++c) areas[c] = pairs.all[c] > 0 ? areas[c] / pairs.all[c] : 0;
    return areas;
}

double mean_area(std::span<const Label> labels, const Matrix<double>& placed, const Pairs& pairs) {
    const auto areas = areas_of(labels, placed, pairs);
    return std::accumulate(areas.begin(), areas.end(), 0.0) / pairs.classes();
}

/// People of one class whose placements are draws of the same kind: those of a site, or, where one of the sites has a
/// single one who says nothing of the variance, those of all sites.
std::vector<Block> alike(std::span<const Label> labels, Label label, const Pairs& pairs, const Strata& strata) {
    std::map<Index, Block> by_site;
    Block all;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] != label || !pairs.any[i]) continue;
        by_site[strata.site.empty() ? 0 : strata.site[i]].push_back(static_cast<Index>(i));
        all.push_back(static_cast<Index>(i));
    }
    std::vector<Block> groups;
    for (auto& [site, people] : by_site) {
        if (people.size() < 2) return {std::move(all)};
        groups.push_back(std::move(people));
    }
    return groups;
}

/// What people of a kind add to the variance of the mean area: that of what they place above what is usual among them.
double variance_among(const Block& people, const Matrix<double>& placed, const Pairs& pairs) {
    std::vector<double> moved(people.size(), 0);
    for (Index c = 0; c < placed.cols(); ++c) {
        double sum = 0;
        double met = 0;
        for (const Index i : people) {
            sum += placed(i, c);
            met += pairs.met(i, c);
        }
        if (met == 0) continue;
        for (std::size_t k = 0; k < people.size(); ++k) {
            const double above = placed(people[k], c) - pairs.met(people[k], c) * sum / met;
            moved[k] += above / pairs.all[at(c)] / pairs.classes();
        }
    }
    const auto count = static_cast<double>(people.size());
    return count / (count - 1) * std::inner_product(moved.begin(), moved.end(), moved.begin(), 0.0);
}

/// Nothing where a class has one person.
std::optional<double> variance_of(std::span<const Label> labels, const Matrix<double>& placed, const Pairs& pairs,
                                  const Strata& strata) {
    double variance = 0;
    for (Label label = 0; label < placed.cols(); ++label) {
        for (const Block& people : alike(labels, label, pairs, strata)) {
            if (people.size() < 2) return {};
            variance += variance_among(people, placed, pairs);
        }
    }
    return variance;
}

double smallest_class(std::span<const Label> labels, const Pairs& pairs) {
    std::map<Label, double> counts;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (pairs.any[i]) ++counts[labels[i]];
    }
    double least = static_cast<double>(labels.size());
    for (const auto& [label, count] : counts) least = std::min(least, count);
    return least;
}

/// On the logit scale it stays between 0 and 1.
Interval logit_interval(double value, double deviation) {
    const double middle = std::log(value / (1 - value));
    const double reach = z95 * deviation / (value * (1 - value));
    const auto back = [](double x) { return 1 / (1 + std::exp(-x)); };
    return {back(middle - reach), back(middle + reach)};
}

double people_of(const Confusion& confusion) {
    double people = 0;
    for (const auto& row : confusion) people += static_cast<double>(std::accumulate(row.begin(), row.end(), Index{0}));
    if (people == 0) throw InputError({"predictions", "none", "at least one", ""});
    return people;
}

/// What calibration speaks of: the probability of an event and whether it happened.
struct Forecast {
    double probability = 0;
    double happened = 0;
};

Forecast forecast_of(Label label, const double* probabilities, Index classes) {
    if (classes == 2) return {probabilities[1], label == 1 ? 1.0 : 0.0};
    const auto top = std::max_element(probabilities, probabilities + classes) - probabilities;
    return {probabilities[top], label == top ? 1.0 : 0.0};
}

double squared_error(Label label, const double* probabilities, Index classes) {
    double error = 0;
    for (Index c = 0; c < classes; ++c) error += std::pow(probabilities[c] - (label == c ? 1 : 0), 2);
    return classes == 2 ? error / 2 : error;
}

}  // namespace

Interval wilson_interval(double part, double count) {
    const double square = z95 * z95;
    const double middle = (part + square / (2 * count)) / (1 + square / count);
    const double reach =
        z95 / (1 + square / count) * std::sqrt(part * (1 - part) / count + square / (4 * count * count));
    return {part > 0 ? std::max(0.0, middle - reach) : 0, part < 1 ? std::min(1.0, middle + reach) : 1};
}

std::optional<Estimate> auc(std::span<const Label> labels, MatrixView<const double> probabilities,
                            const Strata& strata) {
    require_fit(labels, probabilities);
    const auto blocks = blocks_of(labels.size(), strata);
    const Pairs pairs = pairs_of(labels, blocks, probabilities.cols);
    if (pairs.classes() == 0) return {};
    const Matrix<double> placed = placements(labels, probabilities, blocks);
    Estimate result{std::clamp(mean_area(labels, placed, pairs), 0.0, 1.0), {}};
    const auto variance = variance_of(labels, placed, pairs, strata);
    if (!variance) return result;
    const bool certain = !(*variance > 1e-24) || result.value <= 0 || result.value >= 1;
    result.interval = certain ? wilson_interval(result.value, smallest_class(labels, pairs))
                              : logit_interval(result.value, std::sqrt(*variance));
    return result;
}

std::optional<Estimate> auc_difference(std::span<const Label> labels, MatrixView<const double> a,
                                       MatrixView<const double> b, const Strata& strata) {
    require_fit(labels, a);
    require_fit(labels, b);
    if (a.cols != b.cols) {
        throw InputError({"predictions", std::to_string(b.cols) + " classes", std::to_string(a.cols), ""});
    }
    const auto blocks = blocks_of(labels.size(), strata);
    const Pairs pairs = pairs_of(labels, blocks, a.cols);
    if (pairs.classes() == 0) return {};
    Matrix<double> gained = placements(labels, a, blocks);
    const Matrix<double> other = placements(labels, b, blocks);
    for (Index e = 0; e < gained.size(); ++e) gained.data()[e] -= other.data()[e];
    Estimate result{mean_area(labels, gained, pairs), {}};
    if (const auto variance = variance_of(labels, gained, pairs, strata)) {
        const double reach = z95 * std::sqrt(*variance);
        result.interval = Interval{std::max(-1.0, result.value - reach), std::min(1.0, result.value + reach)};
    }
    return result;
}

std::vector<std::optional<double>> class_aucs(std::span<const Label> labels, MatrixView<const double> probabilities,
                                              const Strata& strata) {
    require_fit(labels, probabilities);
    const auto blocks = blocks_of(labels.size(), strata);
    const Pairs pairs = pairs_of(labels, blocks, probabilities.cols);
    const auto areas = areas_of(labels, placements(labels, probabilities, blocks), pairs);
    std::vector<std::optional<double>> result;
    for (std::size_t c = 0; c < areas.size(); ++c) {
        result.push_back(pairs.all[c] > 0 ? std::optional(std::clamp(areas[c], 0.0, 1.0)) : std::nullopt);
    }
    return result;
}

Confusion confusion_of(std::span<const Label> labels, std::span<const Label> predicted, Index classes) {
    const auto known = [&](Label label) { return label >= 0 && label < classes; };
    if (labels.size() != predicted.size() || !std::all_of(labels.begin(), labels.end(), known) ||
        !std::all_of(predicted.begin(), predicted.end(), known)) {
        throw InputError({"predictions", std::to_string(predicted.size()) + " for " + std::to_string(labels.size()),
                          "one for each label, all of them one of " + std::to_string(classes) + " classes", ""});
    }
    Confusion confusion(at(classes), std::vector<Index>(at(classes), 0));
    for (std::size_t i = 0; i < labels.size(); ++i) ++confusion[at(labels[i])][at(predicted[i])];
    return confusion;
}

Estimate accuracy_of(const Confusion& confusion) {
    const double people = people_of(confusion);
    double right = 0;
    for (std::size_t c = 0; c < confusion.size(); ++c) right += static_cast<double>(confusion[c][c]);
    return {right / people, wilson_interval(right / people, people)};
}

Estimate balanced_accuracy_of(const Confusion& confusion) {
    people_of(confusion);
    double recalls = 0;
    double below = 0;
    double above = 0;
    double present = 0;
    for (std::size_t c = 0; c < confusion.size(); ++c) {
        const auto own = static_cast<double>(std::accumulate(confusion[c].begin(), confusion[c].end(), Index{0}));
        if (own == 0) continue;
        const double recall = static_cast<double>(confusion[c][c]) / own;
        const Interval interval = wilson_interval(recall, own);
        recalls += recall;
        below += std::pow(recall - interval.low, 2);
        above += std::pow(interval.high - recall, 2);
        ++present;
    }
    const double value = recalls / present;
    return {value, Interval{std::max(0.0, value - std::sqrt(below) / present),
                            std::min(1.0, value + std::sqrt(above) / present)}};
}

Calibration calibrate(std::span<const Label> labels, MatrixView<const double> probabilities) {
    require_fit(labels, probabilities);
    constexpr std::size_t bins = 10;
    std::vector<Forecast> forecasts;
    Calibration result;
    const std::size_t people = labels.size();
    for (std::size_t i = 0; i < people; ++i) {
        const double* row = probabilities.row(static_cast<Index>(i));
        forecasts.push_back(forecast_of(labels[i], row, probabilities.cols));
        result.brier += squared_error(labels[i], row, probabilities.cols) / static_cast<double>(people);
    }
    std::sort(forecasts.begin(), forecasts.end(), [](const Forecast& a, const Forecast& b) {
        return std::pair(a.probability, a.happened) < std::pair(b.probability, b.happened);
    });
    std::size_t begin = 0;
    for (std::size_t b = 1; b <= bins; ++b) {
        std::size_t end = std::max(begin, b * people / bins);
        while (end > begin && end < people && forecasts[end].probability == forecasts[end - 1].probability) ++end;
        if (end == begin) continue;
        CalibrationBin bin{static_cast<Index>(end - begin), 0, 0};
        for (std::size_t i = begin; i < end; ++i) {
            bin.predicted += forecasts[i].probability / static_cast<double>(bin.people);
            bin.observed += forecasts[i].happened / static_cast<double>(bin.people);
        }
        result.error +=
            std::abs(bin.predicted - bin.observed) * static_cast<double>(bin.people) / static_cast<double>(people);
        result.bins.push_back(bin);
        begin = end;
    }
    return result;
}

Measures measure(std::span<const Label> labels, MatrixView<const double> probabilities,
                 std::span<const Label> predicted, const Strata& strata) {
    require_fit(labels, probabilities);
    Measures result;
    result.people = static_cast<Index>(labels.size());
    result.auc = auc(labels, probabilities, strata);
    const Pairs pairs = pairs_of(labels, blocks_of(labels.size(), strata), probabilities.cols);
    // A pair of two classes counts for both.
    result.auc_pairs = static_cast<Index>(std::accumulate(pairs.all.begin(), pairs.all.end(), 0.0) / 2);
    result.auc_people = std::count(pairs.any.begin(), pairs.any.end(), true);
    result.confusion = confusion_of(labels, predicted, probabilities.cols);
    result.balanced_accuracy = balanced_accuracy_of(result.confusion);
    result.accuracy = accuracy_of(result.confusion);
    const auto counts = class_counts(labels, probabilities.cols);
    result.majority =
        static_cast<double>(*std::max_element(counts.begin(), counts.end())) / static_cast<double>(labels.size());
    result.calibration = calibrate(labels, probabilities);
    result.class_aucs = class_aucs(labels, probabilities, strata);
    return result;
}

}  // namespace couplet
