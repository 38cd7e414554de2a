#include "couplet/explain/matching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/explain/varimax.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/sim/simulate.hpp"
#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

/// Columns assigned to rows so that the costs add up to the least (Kuhn 1955, with potentials); cost is n x n.
std::vector<Index> assign(const Matrix<double>& cost) {
    const Index n = cost.rows();
    constexpr double none = std::numeric_limits<double>::infinity();
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    std::vector<double> u(at(n + 1)), v(at(n + 1));
    std::vector<Index> row_of(at(n + 1)), way(at(n + 1));
    for (Index i = 1; i <= n; ++i) {
        row_of[0] = i;
        Index column = 0;
        std::vector<double> least(at(n + 1), none);
        std::vector<bool> used(at(n + 1));
        do {
            used[at(column)] = true;
            const Index row = row_of[at(column)];
            double delta = none;
            Index next = 0;
            for (Index j = 1; j <= n; ++j) {
                if (used[at(j)]) continue;
                const double reduced = cost(row - 1, j - 1) - u[at(row)] - v[at(j)];
                if (reduced < least[at(j)]) {
                    least[at(j)] = reduced;
                    way[at(j)] = column;
                }
                if (least[at(j)] < delta) {
                    delta = least[at(j)];
                    next = j;
                }
            }
            for (Index j = 0; j <= n; ++j) {
                if (used[at(j)]) {
                    u[at(row_of[at(j)])] += delta;
                    v[at(j)] -= delta;
                } else {
                    least[at(j)] -= delta;
                }
            }
            column = next;
        } while (row_of[at(column)] != 0);
        for (; column != 0; column = way[at(column)]) row_of[at(column)] = row_of[at(way[at(column)])];
    }
    std::vector<Index> column_of(at(n));
    for (Index j = 1; j <= n; ++j) column_of[at(row_of[at(j)] - 1)] = j - 1;
    return column_of;
}

/// Rows drawn with replacement, as many as there are.
Tensor<double> resampled(const Tensor<double>& x, Random& random) {
    Tensor<double> drawn(x.shape());
    const Index rows = x.shape()[0];
    const Index width = rows > 0 ? x.size() / rows : 0;
    for (Index i = 0; i < rows; ++i) {
        const auto from = static_cast<Index>(random.below(static_cast<std::uint64_t>(rows)));
        std::copy_n(x.data() + from * width, width, drawn.data() + i * width);
    }
    drawn.set_labels(x.labels());
    return drawn;
}

/// The entries of a row in the order of another schema's features.
Matrix<double> rows_in_order(const Findings& findings, const Alignment& alignment) {
    if (alignment.empty()) return Matrix<double>::copy(findings.rows.view());
    std::vector<Index> sizes{findings.rows.rows()};
    for (const Index size : findings.schema.features.sizes()) sizes.push_back(size);
    const Tensor<double> moved =
        reordered(TensorView<const double>(findings.rows.data(), Shape(std::move(sizes))), alignment);
    return Matrix<double>::copy(MatrixView<const double>(moved.data(), findings.rows.rows(), findings.rows.cols()));
}

std::vector<NamedEntry> largest_changes(const Schema& schema, const std::vector<double>& difference, double sign) {
    constexpr std::size_t most = 5;
    constexpr double least_change = 0.05;
    std::vector<Index> order(difference.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto grown = [&](Index i) { return sign * difference[static_cast<std::size_t>(i)]; };
    const auto kept = std::min(most, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Index a, Index b) { return grown(a) > grown(b); });
    std::vector<NamedEntry> entries;
    for (std::size_t i = 0; i < kept && grown(order[i]) >= least_change; ++i) {
        NamedEntry entry{.weight = difference[static_cast<std::size_t>(order[i])]};
        for (Index mode = 0; mode < schema.features.order(); ++mode) {
            const Index right = schema.features.product(mode + 1, schema.features.order());
            entry.index.push_back(order[i] / right % schema.features[mode]);
            entry.labels.push_back(label_of(schema, mode, entry.index.back()));
        }
        if (std::find(entry.labels.begin(), entry.labels.end(), any_label) != entry.labels.end()) continue;
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace

Matching match_rows(const Matrix<double>& a, const Matrix<double>& b) {
    const Matrix<double> cosines = product<double>(a.view(), b.view(), Op::none, Op::transpose);
    const Index n = std::max(a.rows(), b.rows());
    auto cost = Matrix<double>::zeros(n, n);
    for (Index r = 0; r < a.rows(); ++r) {
        for (Index s = 0; s < b.rows(); ++s) cost(r, s) = -std::abs(cosines(r, s));
    }
    const std::vector<Index> column = assign(cost);
    Matching matching;
    for (Index r = 0; r < a.rows(); ++r) {
        const Index s = column[static_cast<std::size_t>(r)];
        matching.partner.push_back(s < b.rows() ? s : -1);
        matching.cosine.push_back(s < b.rows() ? cosines(r, s) : 0);
    }
    return matching;
}

namespace {

/// Centred and scaled by sums over all, as the result's data was.
void centre_all(std::vector<Tensor<double>>& clients, const CentringOptions& options) {
    if (!options.any()) return;
    FeatureSums sums;
    for (const auto& x : clients) sums.add(feature_sums(x.view(), options));
    const Centring centring = centring_of(sums, options);
    for (auto& x : clients) x = centred(x.view(), centring, "resample");
}

/// The job that gave the result, in a star: along a tree the stack gives the same.
JobOptions job_of(const Findings& findings) {
    JobOptions job;
    job.rank = findings.rows.rows();
    job.aggregate = findings.fit.aggregate;
    if (job.aggregate != Aggregate::subspace) job.eps1 = findings.fit.eps1;
    job.eps2 = findings.fit.eps2;
    return job;
}

void require_drawable(const Findings& findings, const ClientSource& source) {
    if (findings.fit.method != "ctt") {
        throw InputError({findings.source, "a result of `method` " + findings.fit.method, "one of `method` ctt",
                          "Its stability is that of another computation: leave `data` out."});
    }
    Index most = 0;
    for (Index k = 0; k < source.clients(); ++k) most = std::max(most, source.client(k)->shape()[0]);
    if (most >= 2) return;
    throw InputError({"`data`", "no site with two patients", "patients to draw from", "Leave `data` out."});
}

void name_features(std::vector<Tensor<double>>& clients, const Schema& schema) {
    if (schema.modes.empty()) return;
    Labels labels{ModeLabels{}};
    labels.insert(labels.end(), schema.modes.begin(), schema.modes.end());
    for (auto& x : clients) x.set_labels(labels);
}

/// Orthonormal rows that are of nothing, turned as the others were.
Matrix<double> random_rows(Index count, Index width, Rotation rotation, Random& random) {
    Matrix<double> columns(width, count);
    for (Index i = 0; i < columns.size(); ++i) columns.data()[i] = random.normal();
    orthonormalise_columns(columns.view());
    Matrix<double> rows = transpose(columns.view());
    if (rotation == Rotation::varimax) varimax(rows);
    return rows;
}

/// Agreement of each component with the match that chance gives it: many rows of few features always agree.
std::vector<double> chance_agreement(const Explanation& explanation, const StabilityOptions& options) {
    const Matrix<double>& rows = explanation.findings.rows;
    std::vector<double> mean(explanation.components.size());
    Random random(options.seed, 0x6368616e6365);
    for (Index b = 0; b < options.resamples; ++b) {
        const Matrix<double> drawn = random_rows(rows.rows(), rows.cols(), explanation.rotation, random);
        const Matching matching = match_rows(rows, drawn);
        for (std::size_t r = 0; r < mean.size(); ++r) {
            mean[r] += std::abs(matching.cosine[r]) / static_cast<double>(options.resamples);
        }
    }
    return mean;
}

/// What agreement there is beyond chance, 1 where it is complete; where chance gives that, nothing can be said.
double beyond_chance(double agreement, double chance) {
    constexpr double certain = 1 - 1e-6;
    return chance < certain ? std::max(0.0, (agreement - chance) / (1 - chance)) : 0;
}

}  // namespace

void add_stability(Explanation& explanation, const ClientSource& data, const StabilityOptions& options) {
    const Findings& findings = explanation.findings;
    const AlignedSource aligned = align_source(data, Unnamed::allow, findings.schema);
    const ClientSource& source = aligned.source;
    require_drawable(findings, source);
    JobOptions job = job_of(findings);
    std::vector<double> sum(explanation.components.size());
    std::vector<double> least(explanation.components.size(), 1);
    for (Index b = 0; b < options.resamples; ++b) {
        std::vector<Tensor<double>> drawn;
        for (Index k = 0; k < source.clients(); ++k) {
            Random random(options.seed, static_cast<std::uint64_t>(b * source.clients() + k) + 0x626f6f74);
            drawn.push_back(resampled(*source.client(k), random));
        }
        centre_all(drawn, {.centre = findings.centred,
                           .scale = findings.scaled,
                           .weight = findings.weighting.weight,
                           .any_at = findings.weighting.any_at});
        name_features(drawn, findings.schema);
        job.seed = options.seed;
        const SimulationResult result =
            simulate(MemorySource(std::move(drawn)),
                     {.job = job, .scale_clients = findings.fit.scale_clients, .schema = findings.schema});
        Matrix<double> rows = orthonormal_rows(result.features->train, "resample").rows;
        if (explanation.rotation == Rotation::varimax) varimax(rows);
        const Matching matching = match_rows(findings.rows, rows);
        for (std::size_t r = 0; r < sum.size(); ++r) {
            sum[r] += std::abs(matching.cosine[r]);
            least[r] = std::min(least[r], std::abs(matching.cosine[r]));
        }
    }
    const std::vector<double> chance = chance_agreement(explanation, options);
    for (std::size_t r = 0; r < sum.size(); ++r) {
        const double mean = sum[r] / static_cast<double>(options.resamples);
        explanation.components[r].stability = beyond_chance(mean, chance[r]);
        explanation.components[r].least_stability = beyond_chance(least[r], chance[r]);
    }
}

Drift compare_results(const Explanation& before, const Explanation& after) {
    const Schema& schema = before.findings.schema;
    if (before.findings.centred != after.findings.centred || before.findings.scaled != after.findings.scaled ||
        before.findings.weighting.weight != after.findings.weighting.weight) {
        throw InputError({before.findings.source, "features that were centred, scaled or weighted in another way",
                          "the way of " + after.findings.source,
                          "Run both federations with the same `centre`, `scale` and `weight`."});
    }
    const Alignment alignment =
        align(schema, after.findings.schema, Unnamed::allow, after.findings.source, before.findings.source);
    const Matrix<double> rows = rows_in_order(after.findings, alignment);
    const Matching matching = match_rows(rows, before.findings.rows);
    Drift drift;
    const Matrix<double> cosines = product<double>(rows.view(), before.findings.rows.view(), Op::none, Op::transpose);
    drift.overlap = squared_norm<double>(cosines.view()) / static_cast<double>(rows.rows());
    std::vector<bool> kept(before.components.size());
    std::vector<Change> fresh;
    for (std::size_t r = 0; r < after.components.size(); ++r) {
        const Index old = matching.partner[r];
        const double cosine = matching.cosine[r];
        Change change{
            .after = static_cast<Index>(r), .agreement = std::abs(cosine), .share_after = after.components[r].share};
        if (old < 0 || std::abs(cosine) < least_agreement) {
            fresh.push_back(std::move(change));
            continue;
        }
        kept[static_cast<std::size_t>(old)] = true;
        change.before = old;
        change.share_before = before.components[static_cast<std::size_t>(old)].share;
        std::vector<double> difference(static_cast<std::size_t>(rows.cols()));
        for (Index i = 0; i < rows.cols(); ++i) {
            // A component turned over is the same one.
            difference[static_cast<std::size_t>(i)] =
                rows(static_cast<Index>(r), i) - (cosine < 0 ? -1 : 1) * before.findings.rows(old, i);
        }
        change.gained = largest_changes(schema, difference, 1);
        change.lost = largest_changes(schema, difference, -1);
        drift.changes.push_back(std::move(change));
    }
    drift.changes.insert(drift.changes.end(), std::make_move_iterator(fresh.begin()),
                         std::make_move_iterator(fresh.end()));
    for (std::size_t r = 0; r < kept.size(); ++r) {
        if (!kept[r])
            drift.changes.push_back({.before = static_cast<Index>(r), .share_before = before.components[r].share});
    }
    return drift;
}

}  // namespace couplet
