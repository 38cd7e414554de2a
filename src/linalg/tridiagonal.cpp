#include "tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "narrow.hpp"

namespace couplet {
namespace {

constexpr double roundoff = std::numeric_limits<double>::epsilon();
/// Eigenvalues handled together: enough independent divisions to hide the latency of each.
constexpr Index lanes = 32;

struct Bounds {
    double low;
    double high;
    double norm;
};

Bounds gershgorin(std::span<const double> d, std::span<const double> e) {
    Bounds b{d[0], d[0], 0};
    for (std::size_t i = 0; i < d.size(); ++i) {
        const double radius = (i > 0 ? std::abs(e[i - 1]) : 0) + (i + 1 < d.size() ? std::abs(e[i]) : 0);
        b.low = std::min(b.low, d[i] - radius);
        b.high = std::max(b.high, d[i] + radius);
    }
    b.norm = std::max(std::abs(b.low), std::abs(b.high));
    const double margin = 4 * roundoff * b.norm + std::numeric_limits<double>::min();
    return {b.low - margin, b.high + margin, b.norm};
}

/// The matrix times 2^-exponent, of norm about 1: squares of its entries neither overflow nor vanish.
struct Scaled {
    std::vector<double> d;
    std::vector<double> e;
    int exponent = 0;
};

std::vector<double> times_power_of_two(std::span<const double> values, int exponent) {
    std::vector<double> result;
    for (const double value : values) result.push_back(std::ldexp(value, exponent));
    return result;
}

Scaled to_norm_one(std::span<const double> d, std::span<const double> e) {
    const double norm = gershgorin(d, e).norm;
    const int exponent = norm > 0 && std::isfinite(norm) ? std::ilogb(norm) : 0;
    return {times_power_of_two(d, -exponent), times_power_of_two(e, -exponent), exponent};
}

/// For each lane the number of eigenvalues above x[lane].
inline __attribute__((always_inline)) void count_above_body(std::span<const double> d, const std::vector<double>& e2,
                                                            double pivot_min, const double* x, double* count) {
    double q[lanes];
    double above[lanes];
    for (Index j = 0; j < lanes; ++j) {
        q[j] = d[0] - x[j];
        q[j] = std::abs(q[j]) < pivot_min ? -pivot_min : q[j];
        above[j] = q[j] > 0 ? 1.0 : 0.0;
    }
    for (std::size_t i = 1; i < d.size(); ++i) {
        const double di = d[i];
        const double ei = e2[i - 1];
        for (Index j = 0; j < lanes; ++j) {
            double next = (di - x[j]) - ei / q[j];
            next = std::abs(next) < pivot_min ? -pivot_min : next;
            q[j] = next;
            above[j] += next > 0 ? 1.0 : 0.0;
        }
    }
    std::copy_n(above, lanes, count);
}

void count_above_baseline(std::span<const double> d, const std::vector<double>& e2, double pivot_min, const double* x,
                          double* count) {
    count_above_body(d, e2, pivot_min, x, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void count_above_avx2(std::span<const double> d, const std::vector<double>& e2,
                                                      double pivot_min, const double* x, double* count) {
    count_above_body(d, e2, pivot_min, x, count);
}
__attribute__((target("avx512f,avx512vl,avx512dq"))) void count_above_avx512(std::span<const double> d,
                                                                             const std::vector<double>& e2,
                                                                             double pivot_min, const double* x,
                                                                             double* count) {
    count_above_body(d, e2, pivot_min, x, count);
}
#endif

void count_above(std::span<const double> d, const std::vector<double>& e2, double pivot_min, const double* x,
                 double* count) {
#if defined(__x86_64__)
    if (simd_level() == SimdLevel::avx512) return count_above_avx512(d, e2, pivot_min, x, count);
    if (simd_level() == SimdLevel::avx2) return count_above_avx2(d, e2, pivot_min, x, count);
#endif
    count_above_baseline(d, e2, pivot_min, x, count);
}

double safe_pivot(double pivot, double pivot_min) {
    return std::abs(pivot) < pivot_min ? (pivot < 0 ? -pivot_min : pivot_min) : pivot;
}

/// Entries decay away from the twist, soon to denormal numbers, with which products take a hundred times as long.
double without_traces(double x) { return std::abs(x) < 1e-40 ? 0 : x; }

/// Vectors of up to `lanes` eigenvalues, written to columns [first, first + width) of z.
void twisted_vectors(std::span<const double> d, std::span<const double> e, const double* values, Index width,
                     double pivot_min, MatrixView<double> z, Index first) {
    const auto n = static_cast<Index>(d.size());
    // Forward multipliers l and backward multipliers u of T - lambda = L D L^T = U D U^T, lane by lane.
    Matrix<double> l(n, lanes);
    Matrix<double> u(n, lanes);
    Matrix<double> forward(n, lanes);
    double lambda[lanes];
    for (Index j = 0; j < lanes; ++j) lambda[j] = values[std::min(j, width - 1)];
    for (Index j = 0; j < lanes; ++j) forward(0, j) = d[0] - lambda[j];
    for (Index i = 0; i + 1 < n; ++i) {
        const double ei = e[static_cast<std::size_t>(i)];
        const double next = d[static_cast<std::size_t>(i + 1)];
        for (Index j = 0; j < lanes; ++j) {
            const double factor = ei / safe_pivot(forward(i, j), pivot_min);
            l(i, j) = factor;
            forward(i + 1, j) = (next - lambda[j]) - factor * ei;
        }
    }
    double best[lanes];
    Index twist[lanes];
    double backward[lanes];
    for (Index j = 0; j < lanes; ++j) {
        backward[j] = d[static_cast<std::size_t>(n - 1)] - lambda[j];
        best[j] = std::abs(forward(n - 1, j));
        twist[j] = n - 1;
    }
    for (Index i = n - 1; i-- > 0;) {
        const double ei = e[static_cast<std::size_t>(i)];
        const double di = d[static_cast<std::size_t>(i)];
        for (Index j = 0; j < lanes; ++j) {
            const double factor = ei / safe_pivot(backward[j], pivot_min);
            u(i, j) = factor;
            backward[j] = (di - lambda[j]) - factor * ei;
            const double gamma = std::abs(forward(i, j) + backward[j] - (di - lambda[j]));
            if (gamma < best[j]) {
                best[j] = gamma;
                twist[j] = i;
            }
        }
    }
    std::vector<double> column(static_cast<std::size_t>(n));
    double* x = column.data();
    for (Index j = 0; j < width; ++j) {
        const Index k = twist[j];
        x[k] = 1;
        double sum = 1;
        for (Index i = k; i-- > 0;) {
            x[i] = without_traces(-l(i, j) * x[i + 1]);
            sum += x[i] * x[i];
        }
        for (Index i = k; i + 1 < n; ++i) {
            x[i + 1] = without_traces(-u(i, j) * x[i]);
            sum += x[i + 1] * x[i + 1];
        }
        const double scale = 1 / std::sqrt(sum);
        for (Index i = 0; i < n; ++i) z(i, first + j) = x[i] * scale;
    }
}

/// Largest |T z - lambda z| over all columns.
double worst_residual(std::span<const double> d, std::span<const double> e, std::span<const double> values,
                      const Matrix<double>& z) {
    const Index n = z.rows();
    double worst = 0;
    for (Index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        for (Index j = 0; j < z.cols(); ++j) {
            double r = (d[at] - values[static_cast<std::size_t>(j)]) * z(i, j);
            if (i > 0) r += e[at - 1] * z(i - 1, j);
            if (i + 1 < n) r += e[at] * z(i + 1, j);
            if (std::isnan(r)) return r;
            worst = std::max(worst, std::abs(r));
        }
    }
    return worst;
}

}  // namespace

std::vector<double> tridiagonal_values(std::span<const double> diagonal, std::span<const double> off_diagonal,
                                       Index count) {
    const Scaled scaled = to_norm_one(diagonal, off_diagonal);
    const auto& d = scaled.d;
    const auto& e = scaled.e;
    const Bounds bounds = gershgorin(d, e);
    if (bounds.norm == 0) return std::vector<double>(static_cast<std::size_t>(count), 0.0);
    std::vector<double> e2;
    double largest = 0;
    for (std::size_t i = 0; i + 1 < d.size(); ++i) {
        e2.push_back(e[i] * e[i]);
        largest = std::max(largest, e2.back());
    }
    const double pivot_min = std::numeric_limits<double>::min() * std::max(1.0, largest) * 4;
    std::vector<double> values(static_cast<std::size_t>(count));
    parallel_for((count + lanes - 1) / lanes, [&](Index block) {
        double low[lanes];
        double high[lanes];
        double middle[lanes];
        double above[lanes];
        std::fill_n(low, lanes, bounds.low);
        std::fill_n(high, lanes, bounds.high);
        const double stop = 2 * roundoff * bounds.norm + std::numeric_limits<double>::min();
        while (high[0] - low[0] > stop) {
            for (Index j = 0; j < lanes; ++j) middle[j] = 0.5 * (low[j] + high[j]);
            if (middle[0] == low[0] || middle[0] == high[0]) break;
            count_above(d, e2, pivot_min, middle, above);
            for (Index j = 0; j < lanes; ++j) {
                // Lane j looks for the eigenvalue with exactly block * lanes + j others above it.
                const bool below = above[j] > static_cast<double>(block * lanes + j);
                low[j] = below ? middle[j] : low[j];
                high[j] = below ? high[j] : middle[j];
            }
        }
        for (Index j = 0; j < lanes && block * lanes + j < count; ++j) {
            values[static_cast<std::size_t>(block * lanes + j)] = 0.5 * (low[j] + high[j]);
        }
    });
    return times_power_of_two(values, scaled.exponent);
}

Matrix<double> tridiagonal_vectors(std::span<const double> diagonal, std::span<const double> off_diagonal,
                                   std::span<const double> eigenvalues) {
    const Scaled scaled = to_norm_one(diagonal, off_diagonal);
    const auto& d = scaled.d;
    const auto& e = scaled.e;
    const auto values = times_power_of_two(eigenvalues, -scaled.exponent);
    const auto n = static_cast<Index>(d.size());
    const auto count = static_cast<Index>(values.size());
    const double norm = gershgorin(d, e).norm;
    const double pivot_min = std::max(roundoff * roundoff * norm, std::numeric_limits<double>::min() * 1e10);
    Matrix<double> z(n, count);
    parallel_for((count + lanes - 1) / lanes, [&](Index block) {
        const Index first = block * lanes;
        twisted_vectors(d, e, values.data() + first, std::min(lanes, count - first), pivot_min, z.view(), first);
    });
    if (!(worst_residual(d, e, values, z) <= 1e-13 * norm)) return {};
    const auto overlap = product<double>(z.view(), z.view(), Op::transpose);
    double worst = 0;
    for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < i; ++j) worst = std::max(worst, std::abs(overlap(i, j)));
        if (!(std::abs(overlap(i, i) - 1) <= 1e-10)) return {};
    }
    // Two vectors overlap by no more than their residuals over the gap between their values, so that taking one out of
    // the other costs about a residual, however close the values; the check shows it.
    constexpr double separate = 1e-2;
    if (!(worst <= separate)) return {};
    if (worst > 2e-14) {
        orthonormalise_columns(z.view());
        if (!(worst_residual(d, e, values, z) <= 1e-13 * norm)) return {};
    }
    return z;
}

}  // namespace couplet
