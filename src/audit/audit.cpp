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

constexpr const char* policy_off = "secure, policy off";
Shape feature_shape(const TensorView<const double>& x) {
    return Shape(std::vector<Index>(x.shape().sizes().begin() + 1, x.shape().sizes().end()));
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

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
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
        return book(
            attack(std::move(view), clients_, controls_.view(), options_.limits, options_.job.seed, options_.lattice));
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
            book(of_rows({"stack", "coordinator", "this client's message as it travels",
                          stack_message(own(), job_with(Aggregate::stack), clients_), own_patients}));
            Job exact = job_with(Aggregate::stack);
            exact.precision = Precision::f64;
            exact.eps.reset();
            exact.eps1 = 0;
            book(of_rows({"stack", "neighbour", "this client's rows on their way up a tree, at most",
                          stack_message(own(), exact, clients_), own_patients}));
        }
        if (wanted("average")) average(own_patients);
        if (wanted("subspace")) {
            const SumTranscript sums(clients_, job_with(Aggregate::subspace));
            book({"subspace", "coordinator", "this client's sums, which a parent in a tree sees too",
                  sums.shown(own_patients), own_patients, sums.released(own_patients)});
        }
    }
    View of_rows(View view) const {
        view.released = sums_of_rows(view.rows.view(), own());
        return view;
    }
    void average(const std::vector<Index>& own_patients) {
        Job job = job_with(Aggregate::average);
        if (*job.rank > std::min(own().shape()[0], features_.size())) {
            report_.skipped.push_back("average: the rank is more than this client can give");
            return;
        }
        job.eps1 = 0.1;  // the paper's
        book(of_rows(
            {"average", "coordinator", "this client's message as printed", average_message(own(), job), own_patients}));
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
        const double step = plan.how.step;
        book({mode, "coordinator", "every sum over all clients", sums.shown(all_), all_,
              sums.released(all_, step, plan.clip)})
            .policy = changes;
        book({mode, "coordinator with a client", "every sum, less what that client knows", sums.shown(rest), rest,
              sums.released(rest, step, plan.clip)})
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
        guaranteed(book({"private", "whoever sees the noised sums", "every sum over all clients", sums.shown(all_),
                         all_, sums.released(all_, 0, plan.clip)}),
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
        const bool by_chance = !finding.shows_patients();
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

AuditReport audit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options) {
    require_fit(clients, controls, options);
    return Auditor(clients, controls, options).run();
}

}  // namespace couplet
