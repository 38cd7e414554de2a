#include "couplet/audit/membership.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

/// For each of `of`, the share of `others` above it (or below it), ties counted half.
std::vector<double> placements(std::span<const double> of, std::span<const double> others, bool above) {
    std::vector<double> sorted(others.begin(), others.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> result;
    for (const double value : of) {
        const auto low = std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
        const auto high = std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
        const auto size = static_cast<double>(sorted.size());
        const double less = (static_cast<double>(low) + static_cast<double>(high)) / 2 / size;
        result.push_back(above ? 1 - less : less);
    }
    return result;
}

double variance_of_mean(const std::vector<double>& values, double mean) {
    if (values.size() < 2) return 0.25;  // of one value in [0, 1] nothing more can be said
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    const auto n = static_cast<double>(values.size());
    return sum / (n - 1) / n;
}

/// What a record shows against a row space, of each row that is not zero.
struct Scores {
    std::vector<double> residuals;  ///< ||x - x V V^T||^2 / ||x||^2
    std::vector<double> leverages;  ///< ||x V diag(1/sigma)||^2
};

Scores scores_of(const Basis& space, MatrixView<const double> people) {
    Scores scores;
    if (people.rows == 0) return scores;
    const auto coordinates = product<double>(people, space.vectors.view());
    // Rounding is no evidence: a residual of 1e-17 and another of 0 are the same.
    const auto rounded = [](double score) { return std::round(score * 1e9) * 1e-9; };
    for (Index i = 0; i < people.rows; ++i) {
        const double norm2 = squared_norm<double>(people.rows_from(i, 1));
        if (norm2 == 0) continue;
        double inside = 0;
        double leverage = 0;
        for (Index r = 0; r < coordinates.cols(); ++r) {
            const double square = coordinates(i, r) * coordinates(i, r);
            const double sigma = space.sigma[static_cast<std::size_t>(r)];
            inside += square;
            leverage += square / (sigma * sigma);
        }
        scores.residuals.push_back(rounded(std::max(0.0, 1 - inside / norm2)));
        scores.leverages.push_back(rounded(leverage));
    }
    return scores;
}

/// Variance of an AUC for scores whose logarithms are exponential, with both samples as large as their mean: Newcombe's
/// choice, which needs to know nothing about the scores.
double newcombe_variance(double auc, double members, double controls) {
    const double mean = (members + controls) / 2 - 1;
    return auc * (1 - auc) / (members * controls) * (1 + mean * ((1 - auc) / (2 - auc) + auc / (1 + auc)));
}

}  // namespace

Auc newcombe_interval(double value, Index members, Index controls, double z) {
    const auto m = static_cast<double>(members);
    const auto n = static_cast<double>(controls);
    const auto far = [&](double auc) { return std::abs(auc - value) > z * std::sqrt(newcombe_variance(auc, m, n)); };
    const auto end = [&](double outside) {
        double inside = value;
        for (int i = 0; i < 60; ++i) {
            const double middle = (inside + outside) / 2;
            (far(middle) ? outside : inside) = middle;
        }
        return outside;
    };
    return {value, end(0), end(1)};
}

Auc better_of(const Auc& a, const Auc& b) { return b.low > a.low ? b : a; }

Auc auc_below(std::span<const double> members, std::span<const double> controls, double z) {
    if (members.empty() || controls.empty()) return {};
    const auto of_members = placements(members, controls, true);
    const auto of_controls = placements(controls, members, false);
    double value = 0;
    for (const double place : of_members) value += place / static_cast<double>(of_members.size());
    const double sd = std::sqrt(variance_of_mean(of_members, value) + variance_of_mean(of_controls, value));
    value = std::clamp(value, 0.0, 1.0);  // rounding of the mean
    const Auc wide =
        newcombe_interval(value, static_cast<Index>(members.size()), static_cast<Index>(controls.size()), z);
    return {value, std::max(0.0, std::min(wide.low, value - z * sd)),
            std::min(1.0, std::max(wide.high, value + z * sd))};
}

Auc infer_membership(MatrixView<const double> rows, MatrixView<const double> patients,
                     MatrixView<const double> controls) {
    if (rows.rows == 0 || squared_norm<double>(rows) == 0) return {};
    SvdOptions whole;
    whole.max_tail = 1e-5 * std::sqrt(squared_norm<double>(rows));
    const auto space = dominant_basis<double>(rows, Side::right, whole);
    const Scores inside = scores_of(space, patients);
    const Scores outside = scores_of(space, controls);
    return better_of(auc_below(inside.residuals, outside.residuals, two_sided_97_5),
                     auc_below(inside.leverages, outside.leverages, two_sided_97_5));
}

}  // namespace couplet
