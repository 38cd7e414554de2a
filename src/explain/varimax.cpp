#include "couplet/explain/varimax.hpp"

#include <cmath>

#include "couplet/core/interrupt.hpp"

namespace couplet {
namespace {

constexpr double smallest_turn = 1e-7;
constexpr int most_sweeps = 200;

/// The angle by which the pair (x, y) is best turned (Kaiser 1958).
double best_turn(const double* x, const double* y, Index size) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    for (Index i = 0; i < size; ++i) {
        const double u = x[i] * x[i] - y[i] * y[i];
        const double v = 2 * x[i] * y[i];
        a += u;
        b += v;
        c += u * u - v * v;
        d += 2 * u * v;
    }
    const double count = static_cast<double>(size);
    const double numerator = d - 2 * a * b / count;
    const double denominator = c - (a * a - b * b) / count;
    return numerator == 0 && denominator == 0 ? 0 : std::atan2(numerator, denominator) / 4;
}

void turn(double* x, double* y, Index size, double cosine, double sine) {
    for (Index i = 0; i < size; ++i) {
        const double before = x[i];
        x[i] = cosine * before + sine * y[i];
        y[i] = cosine * y[i] - sine * before;
    }
}

}  // namespace

Matrix<double> varimax(Matrix<double>& rows) {
    const Index count = rows.rows();
    const Index size = rows.cols();
    // Row r holds column r of the rotation while it is made: the same turns as those of the rows.
    auto turns = Matrix<double>::zeros(count, count);
    for (Index r = 0; r < count; ++r) turns.data()[r * count + r] = 1;
    double largest = 1;
    for (int sweep = 0; sweep < most_sweeps && largest > smallest_turn; ++sweep) {
        check_stop();
        largest = 0;
        for (Index p = 0; p + 1 < count; ++p) {
            for (Index q = p + 1; q < count; ++q) {
                double* x = rows.data() + p * size;
                double* y = rows.data() + q * size;
                const double angle = best_turn(x, y, size);
                if (std::abs(angle) <= smallest_turn) continue;
                largest = std::max(largest, std::abs(angle));
                turn(x, y, size, std::cos(angle), std::sin(angle));
                turn(turns.data() + p * count, turns.data() + q * count, count, std::cos(angle), std::sin(angle));
            }
        }
    }
    auto rotation = Matrix<double>::zeros(count, count);
    for (Index r = 0; r < count; ++r) {
        for (Index s = 0; s < count; ++s) rotation.data()[s * count + r] = turns.data()[r * count + s];
    }
    return rotation;
}

}  // namespace couplet
