#include "couplet/ctt/completion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/filling_limits.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// Enough to tell a good model from a bad one, little enough that the features do not miss it.
constexpr double validation_share = 0.05;
constexpr std::uint64_t validation_stream = 0x7370617265;

// Weights of the means that are tried, in this order.
constexpr std::array<double, 5> rungs{1, 0.2, 0.05, 0.01, 0};
// The weight when there is nothing to choose it by: near the means, since little is known then.
constexpr std::size_t unvalidated_rung = 1;
// While weights are compared the model need not settle further than this.
constexpr double rung_tolerance = 1e-3;
// A weight is better when it lowers the error on validation entries by this part, and given up early when it raises it
// by so much.
constexpr double least_gain = 1e-3;
constexpr double most_loss = 1e-2;
constexpr Index least_in_rung = 3;
// One that is slow to settle is judged as it stands: all of them are to be tried within the iterations there are.
constexpr Index most_in_rung = 30;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

Matrix<double> multiplied_out(const Features& features) {
    const Index rank = features.train.left_rank();
    return Matrix<double>::adopt(features.train.full().release(), rank, features.train.shape().size());
}

}  // namespace

void FillSums::add(const FillSums& other) noexcept {
    entries += other.entries;
    missing += other.missing;
    validation += other.validation;
    error2 += other.error2;
    known2 += other.known2;
    objective += other.objective;
    validation_error2 += other.validation_error2;
    validation_means2 += other.validation_means2;
    validation_norm2 += other.validation_norm2;
    change2 += other.change2;
    filled2 += other.filled2;
}

FillSums told_to_others(FillSums sums) noexcept {
    if (sums.validation < least_validation) sums.validation_error2 = sums.validation_means2 = sums.validation_norm2 = 0;
    return sums;
}

double longest_step(double means, double seen) { return 1 / std::max(1e-3, seen + means * (1 - seen)); }

IncompleteClient::IncompleteClient(const Tensor<double>& x, const Preparation& how, std::uint64_t seed, Index client)
    : training_(Tensor<double>::copy(x.view())) {
    if (x.shape().order() < 2) {
        throw InputError({"client " + std::to_string(client + 1), "order " + std::to_string(x.shape().order()),
                          "at least two modes: patients and a feature", ""});
    }
    require_no_infinity(x.view(), "client " + std::to_string(client + 1));
    missing_ = static_cast<double>(std::count_if(training_.elements().begin(), training_.elements().end(),
                                                 [](double e) { return std::isnan(e); }));
    spare(seed, client);
    fill_first();
    // Scaled as every client is, by what it shows first.
    const PreparedClient prepared = prepare_client(filled_, {how.scale_clients, 0}, seed, client);
    scale_ = prepared.scale;
    if (scale_ != 1) {
        for (auto* values : {&training_, filled_.get()}) {
            for (double& value : values->elements()) value /= scale_;
        }
        for (double& value : pull_.means) value /= scale_;
        for (Spared& entry : validation_) entry.value /= scale_;
    }
    for (const Index i : hidden_) filled_with_.push_back(filled_->data()[i]);
    shown_ = filled_;
}

/// Keeps some known entries from the features: not more than are missing, nobody's and no feature's last one.
void IncompleteClient::spare(std::uint64_t seed, Index client) {
    const auto x = training_.view().unfold(1);
    const double known = static_cast<double>(training_.size()) - missing_;
    if (missing_ == 0 || known == 0) return;
    const double share = std::min(validation_share, missing_ / known);
    std::vector<Index> left(static_cast<std::size_t>(x.cols), 0);
    for (Index i = 0; i < x.rows; ++i) {
        for (Index j = 0; j < x.cols; ++j) left[static_cast<std::size_t>(j)] += std::isnan(x(i, j)) ? 0 : 1;
    }
    Random random(seed, validation_stream + static_cast<std::uint64_t>(client));
    double due = 0.5;  // carried from patient to patient, so that also those who know little give their share
    for (Index i = 0; i < x.rows; ++i) {
        std::vector<Index> mine;
        for (Index j = 0; j < x.cols; ++j) {
            if (!std::isnan(x(i, j))) mine.push_back(j);
        }
        due += share * static_cast<double>(mine.size());
        const auto most = static_cast<Index>(mine.size()) - 1;
        const Index wanted = std::min(most, static_cast<Index>(due));
        due = std::min(1.0, due - static_cast<double>(std::max<Index>(0, wanted)));
        for (Index n = 0; n < wanted; ++n) {
            const auto at = static_cast<std::size_t>(n);
            std::swap(mine[at], mine[at + random.below(mine.size() - at)]);
            Index& others = left[static_cast<std::size_t>(mine[at])];
            if (others < 2) continue;
            --others;
            validation_.push_back({i * x.cols + mine[at], x(i, mine[at])});
            x(i, mine[at]) = nan;
        }
    }
}

void IncompleteClient::fill_first() {
    filled_ = std::make_shared<Tensor<double>>(Tensor<double>::copy(training_.view()));
    const auto x = filled_->view().unfold(1);
    pull_.means.assign(static_cast<std::size_t>(x.cols), 0.0);
    pull_.known.assign(static_cast<std::size_t>(x.cols), 0);
    std::vector<double> counts(static_cast<std::size_t>(x.cols), 0.0);
    for (Index i = 0; i < x.rows; ++i) {
        for (Index j = 0; j < x.cols; ++j) {
            if (std::isnan(x(i, j))) continue;
            pull_.means[static_cast<std::size_t>(j)] += x(i, j);
            counts[static_cast<std::size_t>(j)] += 1;
        }
    }
    for (std::size_t j = 0; j < counts.size(); ++j) {
        pull_.known[j] = counts[j] > 0 ? 1 : 0;
        if (counts[j] > 0) pull_.means[j] /= counts[j];
    }
    for (Index i = 0; i < x.rows; ++i) {
        const std::size_t before = hidden_.size();
        for (Index j = 0; j < x.cols; ++j) {
            if (!std::isnan(x(i, j))) continue;
            x(i, j) = pull_.means[static_cast<std::size_t>(j)];
            hidden_.push_back(i * x.cols + j);
        }
        // Of a patient without a single entry nothing is known: the mean would count as if it were data.
        if (static_cast<Index>(hidden_.size() - before) == x.cols) std::fill_n(x.row(i), x.cols, 0.0);
    }
}

FillSums IncompleteClient::take(const Features& features, const Filling& filling) {
    const Matrix<double> w = multiplied_out(features);
    pull_.weight = filling.means;
    FillSums sums;
    sums.entries = static_cast<double>(training_.size());
    sums.missing = missing_;
    sums.validation = static_cast<double>(validation_.size());
    if (filling.last) {
        conclude(w);
        sums.error2 = fit_.error2;
        sums.known2 = fit_.norm2;
        return sums;
    }
    const auto x = training_.view().unfold(1);
    fit_ = fit_known(x, w.view(), &pull_);
    const Matrix<double> model = product<double>(fit_.personal.view(), w.view());
    const auto shown = filled_->view().unfold(1);
    sums.error2 = sums.objective = fit_.error2;
    sums.known2 = sums.filled2 = fit_.norm2;
    std::vector<char> silent(static_cast<std::size_t>(x.rows), 0);
    for (const Index i : fit_.unknown) silent[static_cast<std::size_t>(i)] = 1;
    std::size_t next = 0;  // of hidden_
    for (Index i = 0; i < x.rows; ++i) {
        for (Index j = 0; j < x.cols; ++j) {
            const double m = model(i, j);
            if (!std::isnan(x(i, j))) {
                shown(i, j) = filling.step == 1 ? x(i, j) : m + filling.step * (x(i, j) - m);
                continue;
            }
            const auto column = static_cast<std::size_t>(j);
            const bool drawn = pull_.known[column] != 0 && silent[static_cast<std::size_t>(i)] == 0;
            const double away = drawn ? pull_.means[column] - m : 0;
            const double change = m - filled_with_[next];
            filled_with_[next++] = m;
            sums.change2 += change * change;
            sums.filled2 += m * m;
            sums.objective += filling.means * away * away;
            shown(i, j) = m + filling.step * filling.means * away;
        }
    }
    for (const Spared& entry : validation_) {
        const double error = entry.value - model.data()[entry.position];
        const double from_mean = entry.value - pull_.means[static_cast<std::size_t>(entry.position % x.cols)];
        sums.validation_error2 += error * error;
        sums.validation_means2 += from_mean * from_mean;
        sums.validation_norm2 += entry.value * entry.value;
    }
    sums.norm2 = squared_norm<double>(shown);
    return sums;
}

void IncompleteClient::conclude(const Matrix<double>& w) {
    for (const Spared& entry : validation_) training_.data()[entry.position] = entry.value;
    validation_.clear();
    fit_ = fit_known(training_.view().unfold(1), w.view(), &pull_);
}

PersonalFit IncompleteClient::result() const { return {scaled_back(fit_.personal, scale_), fit_.norm2, fit_.error2}; }

Tensor<double> IncompleteClient::model(const Features& features) const {
    Tensor<double> x(training_.shape());
    const Matrix<double> w = multiplied_out(features);
    multiply<double>(scaled_back(fit_.personal, scale_).view(), Op::none, w.view(), Op::none, x.view().unfold(1));
    return x;
}

CompletionCourse::CompletionCourse(const CompletionLimits& limits)
    : max_iterations_(static_cast<std::size_t>(std::max<Index>(0, limits.max_iterations))),
      tolerance_(limits.tolerance) {
    if (limits.max_iterations < 1 || !(limits.tolerance >= 0)) {
        throw InputError(
            {"completion", "no iterations or a negative tolerance", "at least one, and a tolerance >= 0", ""});
    }
}

void CompletionCourse::take(const FillSums& sums) {
    if (sums.entries > 0 && sums.missing >= sums.entries) {
        throw InputError({"`missing`", "not one known entry at any client", "data to fill the missing entries from",
                          "Check how the files were made: all of their entries are NaN."});
    }
    history_.push_back(sums);
    told_ = filling_;
    // What is drawn to the means alone does not depend on the model: one job on it, and nothing moves any more.
    const bool still = told_.means == 1 && in_rung_ > 0;
    change_ = still ? 0 : std::sqrt(ratio(sums.change2, sums.filled2));
    ++in_rung_;
    if (sums.missing == 0) {
        settled_ = true;
        return;
    }
    const std::size_t rung = rung_;
    if (!weight_final_) choose_weight(sums);
    if (rung != rung_) {
        in_rung_ = 0;
        before_.reset();
        shrunk_ = false;
    } else if (weight_final_) {
        settled_ = change_ <= tolerance_;
    }
    filling_.means = rungs[rung_];
    choose_step(sums);
}

void CompletionCourse::choose_weight(const FillSums& sums) {
    if (!(sums.validation_norm2 > 0)) {
        rung_ = unvalidated_rung;
        weight_final_ = true;
        return;
    }
    const double validation = sums.validation_error2 / sums.validation_norm2;
    const bool worse =
        best_validation_ && in_rung_ >= least_in_rung && validation > *best_validation_ * (1 + most_loss);
    const bool settling = change_ > std::max(tolerance_, rung_tolerance) && in_rung_ < most_in_rung;
    if (settling && !worse) return;
    if (best_validation_ && !(validation < *best_validation_ * (1 - least_gain))) {
        rung_ = best_rung_;
        weight_final_ = true;
        return;
    }
    best_validation_ = validation;
    best_rung_ = rung_;
    if (rung_ + 1 < rungs.size()) {
        ++rung_;
    } else {
        weight_final_ = true;
    }
}

void CompletionCourse::choose_step(const FillSums& sums) {
    // The longest step need not go down the hill. Where it goes up without coming to rest it is halved, and does not
    // grow again: what clients cut depends on the step, and a step that changes for ever never settles.
    constexpr double growth = 1.5;
    constexpr double as_good_as_one = 1.02;
    constexpr double rounding = 1 + 1e-12;
    double& step = filling_.step;
    if (before_ && sums.objective > before_->objective * rounding && sums.change2 > before_->change2) {
        step = 1 + (step - 1) / 2;
        if (step < as_good_as_one) step = 1;
        shrunk_ = true;
    } else if (before_ && !shrunk_) {
        step *= growth;
    }
    const double seen = ratio(sums.entries - sums.missing - sums.validation, sums.entries);
    step = filling_.means == 1 ? 1 : std::min(step, longest_step(filling_.means, seen));
    if (told_.means == filling_.means) before_ = sums;
}

MissingReport CompletionCourse::report() const {
    MissingReport report;
    report.iterations = static_cast<Index>(history_.size());
    report.settled = settled_;
    report.change = change_;
    report.means_weight = told_.means;
    if (history_.empty()) return report;
    const FillSums& sums = history_.back();
    report.fraction = ratio(sums.missing, sums.entries);
    report.validation = sums.validation;
    if (sums.validation_norm2 > 0) {
        report.rse_validation = sums.validation_error2 / sums.validation_norm2;
        report.rse_means = sums.validation_means2 / sums.validation_norm2;
    }
    return report;
}

}  // namespace couplet
