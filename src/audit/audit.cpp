#include "couplet/audit/audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "couplet/audit/ica.hpp"
#include "couplet/audit/rank_one.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"

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

Verdict judge(const Finding& finding, const LeakageLimits& limits) {
    if (finding.ica.exceeds_control() || finding.rank_one.exceeds_control()) return Verdict::patients;
    if (finding.membership.low > limits.warn_auc) return Verdict::membership;
    if (finding.moment.disclosed > 0 || finding.moment.relative_error < known_moment) return Verdict::second_moments;
    return Verdict::features_only;
}

std::string number(double value) {
    std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 3);
}

/// Tries one mode after another and says which could not be tried.
class Auditor {
  public:
    Auditor(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options)
        : clients_(clients), controls_(controls), options_(options), features_(feature_shape(clients.front())) {
        all_.resize(clients.size());
        std::iota(all_.begin(), all_.end(), Index{0});
        report_.clients = static_cast<Index>(clients.size());
        report_.controls = controls.shape()[0];
        for (const auto& x : clients) report_.patients_total += x.shape()[0];
        report_.patients = own().shape()[0];
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
    std::int64_t expected() const { return 4 + (clients_.size() > 1 ? 7 : 0) + (options_.guarantee ? 2 : 0); }
    const TensorView<const double>& own() const { return clients_[static_cast<std::size_t>(options_.client)]; }

    Finding& book(View view) {
        report_.findings.push_back(attack(std::move(view), clients_, controls_, options_.limits, options_.job.seed));
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
    /// The sums of all, as secure aggregation shows them.
    void sums(bool policy) {
        const std::string mode = policy ? "secure" : policy_off;
        Job job = job_with(Aggregate::subspace);
        const Index colluder = options_.client == 0 ? 1 : 0;
        Index honest = report_.patients_total - clients_[static_cast<std::size_t>(colluder)].shape()[0];
        std::vector<std::string> changes;
        std::vector<Tensor<double>> clipped;
        Clients seen = clients_;
        if (policy) {
            const SketchPlan asked{*job.rank, job.oversampling, job.passes, job.sketch == Sketch::gram};
            try {
                const FittedPlan fitted =
                    fit_plan(asked, honest, features_.size(), job.sketch != Sketch::gram, options_.limits);
                job.rank = fitted.plan.rank;
                job.oversampling = fitted.plan.oversampling;
                job.passes = fitted.plan.passes;
                if (!fitted.plan.gram) job.sketch = Sketch::random;
                changes = fitted.changes;
            } catch (const InputError& error) {
                report_.skipped.push_back(mode + ": refused, " + error.what());
                return;
            }
            seen = clip_all(quantile(all_norms(), options_.limits.clip_quantile), clipped, changes);
        }
        const SumTranscript sums(seen, job);
        const auto rest = all_but(colluder);
        book({mode, "coordinator", "every sum over all clients", sums.shown(all_), all_}).policy = changes;
        book({mode, "coordinator with a client", "every sum, less what that client knows", sums.shown(rest), rest})
            .policy = changes;
        book({mode, "every client", "published features", Matrix<double>::copy(sums.features().view()), all_}).policy =
            changes;
    }
    std::vector<double> all_norms() const {
        std::vector<double> norms;
        for (const auto& x : clients_) {
            const auto own_norms = row_norms(x);
            norms.insert(norms.end(), own_norms.begin(), own_norms.end());
        }
        return norms;
    }
    Clients clip_all(double norm, std::vector<Tensor<double>>& kept, std::vector<std::string>& changes) const {
        Clients seen;
        if (!(norm > 0)) return clients_;
        for (const auto& x : clients_) kept.push_back(clip_rows(x, norm).tensor);
        for (const auto& x : kept) seen.push_back(x.view());
        changes.push_back("records clipped at norm " + number(norm));
        return seen;
    }
    void differentially_private() {
        std::vector<Tensor<double>> clipped;
        std::vector<std::string> changes;
        const double clip = options_.clip.value_or(quantile(all_norms(), 0.5));
        const Clients seen = clip_all(clip, clipped, changes);
        Job job = job_with(Aggregate::subspace);
        const bool gram = SubspaceIteration(job, features_).want() == SubspaceIteration::Want::gram;
        const int releases = gram ? 1 : job.passes + 1;
        const SumNoise noise{gaussian_sigma(*options_.guarantee, clip * clip, releases), job.seed};
        const SumTranscript sums(seen, job, noise);
        changes.push_back("noise of standard deviation " + number(noise.sigma) + " in every number");
        guaranteed(
            book({"private", "whoever sees the noised sums", "every sum over all clients", sums.shown(all_), all_}),
            changes);
        guaranteed(
            book({"private", "every client", "published features", Matrix<double>::copy(sums.features().view()), all_}),
            changes);
    }
    void guaranteed(Finding& finding, const std::vector<std::string>& changes) const {
        finding.policy = changes;
        finding.guarantee = options_.guarantee;
        if (finding.verdict == Verdict::patients || finding.verdict == Verdict::membership) return;
        finding.verdict = Verdict::differentially_private;
    }

    const Clients& clients_;
    const TensorView<const double>& controls_;
    const AuditOptions& options_;
    Shape features_;
    std::vector<Index> all_;
    AuditReport report_;
};

void require_fit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options) {
    if (clients.empty()) throw InputError({"clients", "none", "at least one", ""});
    if (!options.job.rank) throw InputError({"--rank", "missing", "a rank", "For example: --rank 20"});
    if (options.client < 0 || options.client >= static_cast<Index>(clients.size())) {
        throw InputError(
            {"--client", std::to_string(options.client + 1), "1 to " + std::to_string(clients.size()), ""});
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
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
    constexpr std::string_view names[] = {"patients", "membership", "second-moments", "features-only",
                                          "differentially-private"};
    return names[static_cast<int>(verdict)];
}

std::string verdict_sentence(const Finding& finding) {
    switch (finding.verdict) {
        case Verdict::patients:
            return "reveals individual patients: " + std::to_string(finding.recovered()) + " of " +
                   std::to_string(finding.ica.patients) + " recovered";
        case Verdict::membership:
            return "reveals who took part";
        case Verdict::second_moments:
            return "reveals second moments: " + std::to_string(finding.moment.disclosed) +
                   " cells that rest on 1 to 10 people";
        case Verdict::features_only:
            return "shared features only; no attack here succeeded (not a guarantee)";
        case Verdict::differentially_private:
            return "differentially private, epsilon " + number(finding.guarantee->epsilon) +
                   ", against everybody who sees the noised sums";
    }
    return "";
}

Verdict AuditReport::worst(std::string_view mode) const {
    Verdict worst = Verdict::differentially_private;
    for (const auto& finding : findings) {
        if (mode.empty() || finding.mode == mode) worst = std::min(worst, finding.verdict);
    }
    return worst;
}

Finding attack(View view, const Clients& clients, const TensorView<const double>& controls, const LeakageLimits& limits,
               std::uint64_t seed) {
    const auto patients = stacked(clients, view.clients);
    const auto others = controls.unfold(1);
    const Shape features = feature_shape(clients.front());
    Finding finding{.mode = view.mode, .seen_by = view.seen_by, .what = view.what, .directions = view.rows.rows()};
    const auto components = independent_components(view.rows.view(), {.seed = seed});
    finding.ica = attack_recovery(components.view(), patients.view(), others);
    if (features.order() >= 2 && view.rows.rows() > 0) {
        RankOneOptions search{.seed = seed};
        search.starts_per_row = std::max<Index>(
            1, std::min(search.starts_per_row, search.starts_per_row * most_searched / view.rows.rows()));
        finding.rank_one =
            attack_recovery(rank_one_rows(view.rows.view(), features, search).view(), patients.view(), others);
    }
    finding.membership = infer_membership(view.rows.view(), patients.view(), others);
    finding.moment = second_moment_disclosure(view.rows.view(), patients.view());
    finding.verdict = judge(finding, limits);
    return finding;
}

AuditReport audit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options) {
    require_fit(clients, controls, options);
    return Auditor(clients, controls, options).run();
}

}  // namespace couplet
