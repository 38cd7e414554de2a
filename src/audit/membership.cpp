#include "couplet/audit/membership.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

constexpr double two_sided_95 = 1.959963984540054;

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

/// ||x - x V V^T||^2 / ||x||^2 of each row that is not zero.
std::vector<double> residuals(const Matrix<double>& space, MatrixView<const double> people) {
    std::vector<double> result;
    if (people.rows == 0) return result;
    const auto coordinates = product<double>(people, space.view());
    for (Index i = 0; i < people.rows; ++i) {
        const double norm2 = squared_norm<double>(people.rows_from(i, 1));
        if (norm2 == 0) continue;
        const double inside = squared_norm<double>(coordinates.view().rows_from(i, 1));
        result.push_back(std::max(0.0, 1 - inside / norm2));
    }
    return result;
}

}  // namespace

Auc auc_below(std::span<const double> members, std::span<const double> controls) {
    if (members.empty() || controls.empty()) return {};
    const auto of_members = placements(members, controls, true);
    const auto of_controls = placements(controls, members, false);
    double value = 0;
    for (const double place : of_members) value += place / static_cast<double>(of_members.size());
    const double sd = std::sqrt(variance_of_mean(of_members, value) + variance_of_mean(of_controls, value));
    return {value, std::max(0.0, value - two_sided_95 * sd), std::min(1.0, value + two_sided_95 * sd)};
}

Auc infer_membership(MatrixView<const double> rows, MatrixView<const double> patients,
                     MatrixView<const double> controls) {
    if (rows.rows == 0 || squared_norm<double>(rows) == 0) return {};
    SvdOptions whole;
    whole.max_tail = 1e-5 * std::sqrt(squared_norm<double>(rows));
    const auto space = dominant_basis<double>(rows, Side::right, whole).vectors;
    // Rounding is no evidence: a member's residual of 1e-17 and another's of 0 are the same.
    auto inside = residuals(space, patients);
    auto outside = residuals(space, controls);
    for (auto* scores : {&inside, &outside}) {
        for (double& score : *scores) score = std::round(score * 1e9) * 1e-9;
    }
    return auc_below(inside, outside);
}

}  // namespace couplet
