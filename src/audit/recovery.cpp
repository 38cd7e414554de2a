#include "couplet/audit/recovery.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

constexpr double significant = 0.05;

/// Rows centred and of norm 1; rows without any variation become zero.
Matrix<double> standardised(MatrixView<const double> rows) {
    auto result = Matrix<double>::copy(rows);
    for (Index i = 0; i < result.rows(); ++i) {
        double* row = result.view().row(i);
        double mean = 0;
        double square = 0;
        for (Index j = 0; j < result.cols(); ++j) mean += row[j];
        mean /= static_cast<double>(result.cols());
        for (Index j = 0; j < result.cols(); ++j) {
            square += row[j] * row[j];
            row[j] -= mean;
        }
        const double norm2 = squared_norm<double>(result.view().rows_from(i, 1));
        const double scale = norm2 > 1e-24 * square ? 1 / std::sqrt(norm2) : 0;
        for (Index j = 0; j < result.cols(); ++j) row[j] *= scale;
    }
    return result;
}

double log_choose(Index n, Index k) {
    const auto d = [](Index value) { return std::lgamma(static_cast<double>(value) + 1); };
    return d(n) - d(k) - d(n - k);
}

}  // namespace

Index count_recovered(MatrixView<const double> guesses, MatrixView<const double> patients) {
    if (guesses.rows == 0 || patients.rows == 0) return 0;
    const auto a = standardised(patients);
    const auto b = standardised(guesses);
    const auto correlation = product<double>(a.view(), b.view(), Op::none, Op::transpose);
    Index count = 0;
    for (Index i = 0; i < correlation.rows(); ++i) {
        const double* row = correlation.view().row(i);
        count +=
            std::any_of(row, row + correlation.cols(), [](double c) { return std::abs(c) > recovered_correlation; });
    }
    return count;
}

double Recovery::chance() const {
    const Index all = patients + controls;
    const Index hits = recovered + controls_recovered;
    double tail = 0;
    for (Index k = recovered; k <= std::min(hits, patients); ++k) {
        if (hits - k > controls) continue;
        tail += std::exp(log_choose(patients, k) + log_choose(controls, hits - k) - log_choose(all, hits));
    }
    return std::min(1.0, tail);
}

bool Recovery::exceeds_control() const {
    if (recovered == 0) return false;
    return controls == 0 || chance() < significant;
}

Index count_rebuilt(MatrixView<const double> records, MatrixView<const double> patients) {
    Index count = 0;
    for (Index i = 0; i < patients.rows; ++i) {
        bool rebuilt = false;
        for (Index k = 0; k < records.rows && !rebuilt; ++k) {
            rebuilt = std::equal(patients.row(i), patients.row(i) + patients.cols, records.row(k));
        }
        count += rebuilt;
    }
    return count;
}

Recovery attack_exactly(MatrixView<const double> records, MatrixView<const double> patients,
                        MatrixView<const double> controls) {
    return {patients.rows, count_rebuilt(records, patients), controls.rows, count_rebuilt(records, controls)};
}

Recovery attack_recovery(MatrixView<const double> guesses, MatrixView<const double> patients,
                         MatrixView<const double> controls) {
    return {patients.rows, count_recovered(guesses, patients), controls.rows, count_recovered(guesses, controls)};
}

}  // namespace couplet
