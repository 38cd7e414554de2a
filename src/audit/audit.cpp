#include "couplet/audit/audit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "couplet/audit/ica.hpp"
#include "couplet/audit/rank_one.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/privacy/secure_sum.hpp"
#include "couplet/secure/shield_plan.hpp"

namespace couplet {
namespace {

// Sums of squares that are this close are known, whatever cells they rest on.
constexpr double known_moment = 0.05;
constexpr const char* policy_off = "secure, policy off";
// A single patient is found by the search for rank one about once in 25 starts; a row space this wide is only
// searched by parts.
constexpr Index most_searched = 400;

Shape feature_shape(const TensorView<const double>& x) {
    return Shape(std::vector<Index>(x.shape().sizes().begin() + 1, x.shape().sizes().end()));
}

Matrix<double> stacked(const Clients& clients, const std::vector<Index>& which) {
    Index rows = 0;
    for (const Index k : which) rows += clients[static_cast<std::size_t>(k)].shape()[0];
    Matrix<double> all(rows, feature_shape(clients.front()).size());
    Index at = 0;
    for (const Index k : which) {
        const auto& x = clients[static_cast<std::size_t>(k)];
        std::copy_n(x.data(), x.size(), all.view().row(at));
        at += x.shape()[0];
    }
    return all;
}

/// As a job refuses it, without the advice to scale clients, which an audit does not do.
void require_usual_norm(const TensorView<const double>& x, const std::string& who) {
    try {
        job_norm2(x, who);
    } catch (const InputError& error) {
        ErrorParts parts = error.parts();
        parts.remedy = "Scale the data.";
        throw InputError(parts);
    }
}

/// What is seen, without any search: its rows, and the directions in which they are longest. A patient whose record is
/// longer than the others' is one of these, or nearly.
Matrix<double> plain_guesses(MatrixView<const double> rows) {
    if (rows.rows == 0 || squared_norm<double>(rows) == 0) return {};
    SvdOptions whole;
    whole.max_tail = 1e-5 * std::sqrt(squared_norm<double>(rows));
    const auto space = dominant_basis<double>(rows, Side::right, whole);
    Matrix<double> guesses(rows.rows + space.vectors.cols(), rows.cols);
    for (Index i = 0; i < rows.rows; ++i) std::copy_n(rows.row(i), rows.cols, guesses.view().row(i));
    for (Index r = 0; r < space.vectors.cols(); ++r) {
        for (Index j = 0; j < rows.cols; ++j) guesses(rows.rows + r, j) = space.vectors(j, r);
    }
    return guesses;
}

/// The first direction is near the mean of all, and people who are alike are near that, whether they took part or not:
/// where controls are found as well, more than chance must be.
bool shows_patients(const Recovery& direct) {
    return direct.above_control() && (direct.controls_recovered == 0 || direct.exceeds_control());
}

Verdict judge(const Finding& finding, const LeakageLimits& limits, bool controlled) {
    if (finding.ica.above_control() || finding.rank_one.above_control() || shows_patients(finding.direct)) {
        return Verdict::patients;
    }
    if (finding.membership.low > limits.warn_auc) return Verdict::membership;
    if (finding.moment.disclosed > 0 || finding.moment.relative_error < known_moment) return Verdict::second_moments;
    return controlled ? Verdict::features_only : Verdict::untested;
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

Matrix<double> distinct_rows(const Matrix<double>& all) {
    const auto which = distinct_records(all.view());
    Matrix<double> rows(static_cast<Index>(which.size()), all.cols());
    for (std::size_t i = 0; i < which.size(); ++i) {
        std::copy_n(all.view().row(which[i]), all.cols(), rows.view().row(static_cast<Index>(i)));
    }
    return rows;
}

/// "6 of 320 recovered, control 0 of 80".
std::string counts_text(const Recovery& recovery) {
    return std::to_string(recovery.recovered) + " of " + std::to_string(recovery.patients) + " recovered, control " +
           std::to_string(recovery.controls_recovered) + " of " + std::to_string(recovery.controls);
}

/// How much a record's class of norms holds less than the classes around it, a doubling to either side: whoever took
/// part is counted there.
std::vector<double> norm_scores(const std::vector<std::uint64_t>& counts, const TensorView<const double>& people) {
    constexpr std::size_t reach = 8;
    std::vector<double> scores;
    for (const double norm : row_norms(people)) {
        if (norm == 0) continue;
        const auto at = norm_class(norm);
        double around = 0.5;  // of nothing nothing can be said
        for (std::size_t i = at > reach ? at - reach : 0; i <= at + reach && i < counts.size(); ++i) {
            if (i != at) around += static_cast<double>(counts[i]) / (2 * reach);
        }
        scores.push_back(-static_cast<double>(counts[at]) / around);
    }
    return scores;
}

/// Tries one mode after another and says which could not be tried.
class Auditor {
  public:
    Auditor(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options)
        : clients_(clients),
          controls_(usable_controls(clients, controls)),
          options_(options),
          features_(feature_shape(clients.front())) {
        all_.resize(clients.size());
        std::iota(all_.begin(), all_.end(), Index{0});
        report_.clients = static_cast<Index>(clients.size());
        report_.controls = controls_.shape()[0];
        report_.controls_left_out = controls.shape()[0] - report_.controls;
        for (const auto& x : clients) {
            const Index patients = count_patients(x);
            report_.patients_total += patients;
            report_.left_out += x.shape()[0] - patients;
        }
        report_.patients = count_patients(own());
        report_.leverage = largest_leverage(own(), *options.job.rank);
    }

    AuditReport run() {
        couplet::report(options_.progress, "attacks", 0, expected());
        plain();
        if (clients_.size() > 1) {
            published();
            if (wanted(policy_off)) sums(false);
            if (wanted("secure")) sums(true);
        } else {
            report_.skipped.push_back("stack published, subspace and secure: a federation of one client has no sums");
        }
        if (options_.guarantee && wanted("private")) differentially_private();
        couplet::report(options_.progress, "attacks", expected(), expected());
        return std::move(report_);
    }

  private:
    /// Views, about: what is skipped is not known before.
    std::int64_t expected() const { return 4 + (clients_.size() > 1 ? 9 : 0) + (options_.guarantee ? 2 : 0); }
    const TensorView<const double>& own() const { return clients_[static_cast<std::size_t>(options_.client)]; }

    Finding& book(View view) {
        return book(attack(std::move(view), clients_, controls_.view(), options_.limits, options_.job.seed));
    }
    Finding& book(Finding finding) {
        report_.findings.push_back(std::move(finding));
        couplet::report(options_.progress, "attacks",
                        std::min<std::int64_t>(static_cast<std::int64_t>(report_.findings.size()), expected() - 1),
                        expected());
        return report_.findings.back();
    }
    bool wanted(std::string_view mode) const { return options_.only.empty() || options_.only == mode; }
    Job job_with(Aggregate aggregate) const {
        Job job = options_.job;
        job.aggregate = aggregate;
        return job;
    }
    /// Everything that one client says by itself.
    void plain() {
        const std::vector<Index> own_patients{options_.client};
        if (wanted("stack")) {
            book({"stack", "coordinator", "this client's message as it travels",
                  stack_message(own(), job_with(Aggregate::stack), clients_), own_patients});
            Job exact = job_with(Aggregate::stack);
            exact.precision = Precision::f64;
            exact.eps.reset();
            exact.eps1 = 0;
            book({"stack", "neighbour", "this client's rows on their way up a tree, at most",
                  stack_message(own(), exact, clients_), own_patients});
        }
        if (wanted("average")) average(own_patients);
        if (wanted("subspace")) {
            const SumTranscript sums(clients_, job_with(Aggregate::subspace));
            book({"subspace", "coordinator", "this client's sums, which a parent in a tree sees too",
                  sums.shown(own_patients), own_patients});
        }
    }
    void average(const std::vector<Index>& own_patients) {
        Job job = job_with(Aggregate::average);
        if (*job.rank > std::min(own().shape()[0], features_.size())) {
            report_.skipped.push_back("average: the rank is more than this client can give");
            return;
        }
        job.eps1 = 0.1;  // the paper's
        book({"average", "coordinator", "this client's message as printed", average_message(own(), job), own_patients});
    }
    void published() {
        if (!wanted("stack")) return;
        book({"stack", "every client", "published features", stack_features(clients_, job_with(Aggregate::stack)),
              all_});
    }
    std::vector<Index> all_but(Index client) const {
        std::vector<Index> rest;
        for (const Index k : all_) {
            if (k != client) rest.push_back(k);
        }
        return rest;
    }
    /// What the parties of a job of masked sums would agree on.
    ShieldPlan plan_of(const ShieldTerms& terms) const {
        const auto clients = static_cast<Index>(clients_.size());
        if (!terms.guarantee && clients < SumDemands{}.min_cohort) {
            throw InputError({"`secure`", std::to_string(clients) + " clients",
                              "at least " + std::to_string(SumDemands{}.min_cohort), ""});
        }
        std::optional<Census> census;
        if (!terms.guarantee) {
            std::vector<std::uint64_t> counts(census_length, 0);
            for (std::size_t k = 0; k < clients_.size(); ++k) {
                const auto own_counts = take_census(clients_[k], "client " + std::to_string(k + 1));
                for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += own_counts[i];
            }
            census = read_census(counts, options_.limits.clip_quantile);
        }
        const Index survivors = SumDemands{.colluders = terms.colluders}.least_threshold(static_cast<int>(clients));
        return plan_shield(job_with(Aggregate::subspace), features_, terms, census, clients,
                           std::min(survivors, clients), options_.limits);
    }
    /// The sums of all, as secure aggregation shows them.
    void sums(bool policy) {
        const std::string mode = policy ? "secure" : policy_off;
        ShieldPlan plan;
        try {
            plan = plan_of({.policy = policy});
        } catch (const InputError& error) {
            report_.skipped.push_back(mode + ": refused, " + error.what());
            return;
        }
        std::vector<std::string> changes = plan.changes;
        std::vector<Tensor<double>> clipped;
        const Clients seen = clip_all(plan.clip, clipped, changes);
        const SumTranscript sums(seen, plan.job);
        const auto rest = all_but(options_.client == 0 ? 1 : 0);
        book({mode, "coordinator", "every sum over all clients", sums.shown(all_), all_}).policy = changes;
        book({mode, "coordinator with a client", "every sum, less what that client knows", sums.shown(rest), rest})
            .policy = changes;
        book({mode, "every client", "published features", Matrix<double>::copy(sums.features().view()), all_}).policy =
            changes;
        book(attack_counts(mode, clients_, controls_.view(), options_.limits));
    }
    Clients clip_all(std::optional<double> norm, std::vector<Tensor<double>>& kept,
                     std::vector<std::string>& changes) const {
        if (!norm) return clients_;
        Clients seen;
        for (const auto& x : clients_) kept.push_back(clip_rows(x, *norm).tensor);
        for (const auto& x : kept) seen.push_back(x.view());
        changes.push_back("records clipped at norm " + number(*norm));
        return seen;
    }
    void differentially_private() {
        // Whoever adds the noise, no view has less of it than this.
        const ShieldPlan plan = plan_of(
            {.colluders = 0, .guarantee = options_.guarantee, .clip = options_.clip, .noise = NoisePlace::central});
        std::vector<Tensor<double>> clipped;
        std::vector<std::string> changes;
        const Clients seen = clip_all(plan.clip, clipped, changes);
        const SumTranscript sums(seen, plan.job, SumNoise{plan.noise->sigma, plan.job.seed});
        changes.push_back("noise of standard deviation " + number(plan.noise->sigma) + " in every number");
        guaranteed(
            book({"private", "whoever sees the noised sums", "every sum over all clients", sums.shown(all_), all_}),
            changes);
        guaranteed(
            book({"private", "every client", "published features", Matrix<double>::copy(sums.features().view()), all_}),
            changes);
    }
    /// A guarantee says more than attacks that fail, unless it is none; an attack that succeeds beyond chance says more
    /// than a guarantee.
    void guaranteed(Finding& finding, const std::vector<std::string>& changes) const {
        finding.policy = changes;
        finding.guarantee = options_.guarantee;
        finding.weakness = weakness(*options_.guarantee, report_.patients_total);
        const bool by_chance =
            !finding.ica.exceeds_control() && !finding.rank_one.exceeds_control() && !finding.direct.exceeds_control();
        if (!finding.weakness.empty() || finding.verdict == Verdict::membership) return;
        if (finding.verdict != Verdict::patients || by_chance) finding.verdict = Verdict::differentially_private;
    }

    const Clients& clients_;
    Tensor<double> controls_;
    const AuditOptions& options_;
    Shape features_;
    std::vector<Index> all_;
    AuditReport report_;
};

void require_fit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options) {
    if (clients.empty()) throw InputError({"clients", "none", "at least one", ""});
    if (!options.job.rank) throw InputError({"`rank`", "missing", "a rank", "For example: `rank` 20"});
    if (options.client < 0 || options.client >= static_cast<Index>(clients.size())) {
        throw InputError(
            {"`client`", std::to_string(options.client + 1), "1 to " + std::to_string(clients.size()), ""});
    }
    const Shape features = feature_shape(clients.front());
    const auto fits = [&](const TensorView<const double>& x) {
        return x.shape().order() == features.order() + 1 && feature_shape(x) == features;
    };
    for (std::size_t k = 0; k < clients.size(); ++k) {
        if (fits(clients[k]) && clients[k].shape()[0] > 0) continue;
        throw InputError({"client " + std::to_string(k + 1), clients[k].shape().to_string(),
                          "patients x " + features.to_string(), ""});
    }
    if (!fits(controls)) {
        throw InputError({"controls", controls.shape().to_string(), "patients x " + features.to_string(), ""});
    }
    require_possible({.guarantee = options.guarantee, .clip = options.clip});
    for (std::size_t k = 0; k < clients.size(); ++k) require_usual_norm(clients[k], "client " + std::to_string(k + 1));
    if (controls.size() > 0) require_usual_norm(controls, "controls");
    if (count_patients(clients[static_cast<std::size_t>(options.client)]) > 0) return;
    throw InputError({"client " + std::to_string(options.client + 1), "empty records only", "patients with records",
                      "There is nothing to attack."});
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
    constexpr std::string_view names[] = {"patients", "membership",    "second-moments",
                                          "untested", "features-only", "differentially-private"};
    return names[static_cast<int>(verdict)];
}

const Recovery& Finding::best() const noexcept {
    const auto rank = [](const Recovery& recovery, bool told) { return std::pair(told, recovery.recovered); };
    const auto of_ica = rank(ica, ica.above_control());
    const auto of_rank_one = rank(rank_one, rank_one.above_control());
    const auto of_direct = rank(direct, shows_patients(direct));
    if (of_direct > of_ica && of_direct > of_rank_one) return direct;
    return of_rank_one > of_ica ? rank_one : ica;
}

namespace {

std::string moment_sentence(const Finding& finding) {
    const std::string cells = std::to_string(finding.moment.disclosed);
    if (finding.counts) return "reveals counts of record norms: " + cells + " that rest on 1 to 10 people";
    return finding.moment.disclosed > 0
               ? "reveals second moments: " + cells + " cells that rest on 1 to 10 people"
               : "reveals second moments: sums of squares and products to within " + number(100 * known_moment) + "%";
}

/// An interval that leaves out guessing is no success that counts yet, and nothing to be silent about.
std::string unbroken_sentence(const Finding& finding) {
    const auto& auc = finding.membership;
    if (!(auc.low > 0.5)) return "no attack here succeeded (not a guarantee)";
    return "who took part is guessed a little better than by chance (AUC " + number(auc.value) + ", " +
           number(auc.low) + " to " + number(auc.high) + "; from " + number(LeakageLimits{}.warn_auc) +
           " on it counts as shown)";
}

std::string bare_sentence(const Finding& finding) {
    const Recovery& best = finding.best();
    const std::string found =
        best.recovered > 0 ? "; " + counts_text(best) + (best.exceeds_control() ? "" : ", which may be chance") : "";
    switch (finding.verdict) {
        case Verdict::patients:
            return "reveals individual patients: " + counts_text(best) +
                   (best.exceeds_control() ? "" : "; more controls would tell whether that is chance");
        case Verdict::membership:
            return "reveals who took part" + found;
        case Verdict::second_moments:
            return moment_sentence(finding) + found;
        case Verdict::untested:
            return "untested: without controls nobody can say whether it shows who took part";
        case Verdict::features_only:
            return "shared features only; " + unbroken_sentence(finding) + found;
        case Verdict::differentially_private:
            return "differentially private, epsilon " + number(finding.guarantee->epsilon) + " and delta " +
                   number(finding.guarantee->delta) + ", against everybody who sees the noised sums" + found;
    }
    return "";
}

}  // namespace

std::string verdict_sentence(const Finding& finding) {
    return bare_sentence(finding) + (finding.weakness.empty() ? "" : "; no guarantee: " + finding.weakness);
}

Verdict AuditReport::worst(std::string_view mode) const {
    Verdict worst = Verdict::differentially_private;
    for (const auto& finding : findings) {
        if (mode.empty() || finding.mode == mode) worst = std::min(worst, finding.verdict);
    }
    return worst;
}

Tensor<double> usable_controls(const Clients& clients, const TensorView<const double>& controls) {
    const auto key = [](const MatrixView<const double>& rows, Index i) {
        return record_key({rows.row(i), static_cast<std::size_t>(rows.cols)}, Likeness::rounded);
    };
    std::unordered_set<std::string> members;
    for (const auto& x : clients) {
        const auto rows = x.unfold(1);
        for (Index i = 0; i < rows.rows; ++i) members.insert(key(rows, i));
    }
    const auto rows = controls.unfold(1);
    std::vector<Index> kept;
    for (const Index i : distinct_records(rows)) {
        if (!members.contains(key(rows, i))) kept.push_back(i);
    }
    std::vector<Index> sizes(controls.shape().sizes().begin(), controls.shape().sizes().end());
    sizes[0] = static_cast<Index>(kept.size());
    Tensor<double> usable{Shape(sizes)};
    for (std::size_t i = 0; i < kept.size(); ++i) {
        std::copy_n(rows.row(kept[i]), rows.cols, usable.data() + static_cast<Index>(i) * rows.cols);
    }
    return usable;
}

Finding attack(View view, const Clients& clients, const TensorView<const double>& controls, const LeakageLimits& limits,
               std::uint64_t seed) {
    const auto records = stacked(clients, view.clients);
    const auto patients = distinct_rows(records);
    const auto others = controls.unfold(1);
    const Shape features = feature_shape(clients.front());
    Finding finding{.mode = view.mode, .seen_by = view.seen_by, .what = view.what, .directions = view.rows.rows()};
    const auto components = independent_components(view.rows.view(), {.seed = seed});
    finding.ica = attack_recovery(components.view(), patients.view(), others);
    finding.direct = attack_recovery(plain_guesses(view.rows.view()).view(), patients.view(), others);
    if (features.order() >= 2 && view.rows.rows() > 0) {
        RankOneOptions search{.seed = seed};
        search.starts_per_row = std::max<Index>(
            1, std::min(search.starts_per_row, search.starts_per_row * most_searched / view.rows.rows()));
        finding.rank_one =
            attack_recovery(rank_one_rows(view.rows.view(), features, search).view(), patients.view(), others);
    }
    finding.membership = infer_membership(view.rows.view(), patients.view(), others);
    finding.moment = second_moment_disclosure(view.rows.view(), records.view());
    finding.verdict = judge(finding, limits, others.rows > 0);
    return finding;
}

Finding attack_counts(std::string mode, const Clients& clients, const TensorView<const double>& controls,
                      const LeakageLimits& limits) {
    std::vector<std::uint64_t> counts(norm_classes, 0);
    std::vector<double> members;
    for (const auto& x : clients) {
        const auto own = norm_histogram(x);
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += own[i];
    }
    for (const auto& x : clients) {
        for (const double score : norm_scores(counts, x)) members.push_back(score);
    }
    Finding finding{.mode = std::move(mode),
                    .seen_by = "coordinator and clients",
                    .what = "how many records have which norm",
                    .counts = true};
    finding.membership = auc_below(members, norm_scores(counts, controls));
    for (const std::uint64_t count : counts) {
        finding.moment.small_cells += count > 0 && count <= static_cast<std::uint64_t>(small_cell);
    }
    finding.moment.disclosed = finding.moment.small_cells;
    finding.verdict = judge(finding, limits, controls.shape()[0] > 0);
    return finding;
}

AuditReport audit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options) {
    require_fit(clients, controls, options);
    return Auditor(clients, controls, options).run();
}

}  // namespace couplet
