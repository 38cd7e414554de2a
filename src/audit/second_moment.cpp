#include "couplet/audit/second_moment.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// ||A A^T||^2 = ||A^T A||^2, by the shorter side.
double squared_gram(MatrixView<const double> a) {
    const Side side = a.rows <= a.cols ? Side::left : Side::right;
    return squared_norm<double>(gram<double>(a, side).view());
}

std::vector<double> column_squares(MatrixView<const double> a) {
    std::vector<double> sums(static_cast<std::size_t>(a.cols), 0.0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; ++j) sums[static_cast<std::size_t>(j)] += a(i, j) * a(i, j);
    }
    return sums;
}

std::vector<Index> people_with(MatrixView<const double> a) {
    std::vector<Index> counts(static_cast<std::size_t>(a.cols), 0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; ++j) counts[static_cast<std::size_t>(j)] += a(i, j) != 0;
    }
    return counts;
}

double relative_error(MatrixView<const double> rows, MatrixView<const double> patients) {
    const double truth = squared_gram(patients);
    if (truth == 0) return 0;
    if (rows.rows == 0) return 1;
    const auto across = product<double>(rows, patients, Op::none, Op::transpose);
    const double error2 = squared_gram(rows) - 2 * squared_norm<double>(across.view()) + truth;
    return std::sqrt(std::max(0.0, error2) / truth);
}

}  // namespace

SecondMoment second_moment_disclosure(MatrixView<const double> rows, MatrixView<const double> patients) {
    SecondMoment result;
    result.relative_error = relative_error(rows, patients);
    const auto shown = column_squares(rows);
    const auto truth = column_squares(patients);
    const auto people = people_with(patients);
    for (std::size_t j = 0; j < people.size(); ++j) {
        if (people[j] < 1 || people[j] > small_cell) continue;
        ++result.small_cells;
        const double tenth_of_a_patient = truth[j] / static_cast<double>(people[j]) / 10;
        const double seen = shown.empty() ? 0 : shown[j];
        result.disclosed += std::abs(seen - truth[j]) <= tenth_of_a_patient;
    }
    return result;
}

}  // namespace couplet
