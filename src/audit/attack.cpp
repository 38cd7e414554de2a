#include "couplet/audit/attack.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/audit/ica.hpp"
#include "couplet/audit/peel_records.hpp"
#include "couplet/audit/rank_one.hpp"
#include "couplet/audit/rare_rows.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/secure/norm_histogram.hpp"

namespace couplet {
namespace {

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

Matrix<double> distinct_rows(const Matrix<double>& all) {
    const auto which = distinct_records(all.view());
    Matrix<double> rows(static_cast<Index>(which.size()), all.cols());
    for (std::size_t i = 0; i < which.size(); ++i) {
        std::copy_n(all.view().row(which[i]), all.cols(), rows.view().row(static_cast<Index>(i)));
    }
    return rows;
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

}  // namespace

Finding attack(View view, const Clients& clients, const TensorView<const double>& controls, const LeakageLimits& limits,
               std::uint64_t seed, const PeelOptions& lattice) {
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
    if (view.released) {
        finding.rare_rows = attack_recovery(rare_rows(*view.released).view(), patients.view(), others);
        finding.lattice =
            attack_exactly(peel_records(*view.released, features, lattice).view(), patients.view(), others);
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

}  // namespace couplet
