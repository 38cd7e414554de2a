#include "tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/tensor/partition.hpp"
#include "simd.hpp"

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

/// For each lane the number of eigenvalues above x and Newton's step p / p' from there, p the characteristic
/// polynomial: the product of the pivots q, whose logarithmic derivative is the sum of q' / q.
template <Index width>
COUPLET_INLINE void sturm_body(std::span<const double> d, const double* e2, double pivot_min, const double* x,
                               double* count, double* step) {
    double q[width];
    double slope[width];
    double above[width];
    double sum[width];
    for (Index j = 0; j < width; ++j) {
        q[j] = d[0] - x[j];
        q[j] = std::abs(q[j]) < pivot_min ? -pivot_min : q[j];
        slope[j] = -1;
        above[j] = q[j] > 0 ? 1.0 : 0.0;
        sum[j] = 0;
    }
    for (std::size_t i = 1; i < d.size(); ++i) {
        const double di = d[i];
        const double ei = e2[i - 1];
        for (Index j = 0; j < width; ++j) {
            const double inverse = 1 / q[j];
            const double ratio = ei * inverse;
            double next = (di - x[j]) - ratio;
            next = std::abs(next) < pivot_min ? -pivot_min : next;
            sum[j] += slope[j] * inverse;
            slope[j] = ratio * inverse * slope[j] - 1;
            q[j] = next;
            above[j] += next > 0 ? 1.0 : 0.0;
        }
    }
    for (Index j = 0; j < width; ++j) {
        count[j] = above[j];
        step[j] = 1 / (sum[j] + slope[j] / q[j]);
    }
}

/// The same from the characteristic polynomials of the leading parts, p_i = (d_i - x) p_{i-1} - e^2 p_{i-2}, without a
/// division for each of them; the matrix has norm 1. False where their magnitudes leave the range of numbers.
template <Index width>
COUPLET_INLINE bool polynomials_body(std::span<const double> d, const double* e2, const double* x, double* count,
                                     double* step) {
    constexpr std::size_t block = 8;     // growth by 8 in each step, at most: far from overflow
    constexpr double vanished = 1e-250;  // of two neighbours; every count since the last look is right above it
    constexpr double off_zero = -1e-30;  // where one is zero, its pivot is taken for this
    double p[width];
    double before[width];
    double slope[width];
    double slope_before[width];
    double above[width];
    for (Index j = 0; j < width; ++j) {
        before[j] = 1;
        p[j] = d[0] - x[j];
        p[j] = p[j] == 0 ? off_zero : p[j];
        slope[j] = -1;
        slope_before[j] = 0;
        above[j] = p[j] > 0 ? 1.0 : 0.0;
    }
    double smallest = 1;
    for (std::size_t i = 1; i < d.size();) {
        for (const std::size_t end = std::min(i + block, d.size()); i < end; ++i) {
            const double di = d[i];
            const double ei = e2[i - 1];
            for (Index j = 0; j < width; ++j) {
                const double t = di - x[j];
                double next = t * p[j] - ei * before[j];
                next = next == 0 ? off_zero * p[j] : next;
                const double next_slope = t * slope[j] - (ei * slope_before[j] + p[j]);
                above[j] += (next > 0) == (p[j] > 0) ? 1.0 : 0.0;
                before[j] = p[j];
                p[j] = next;
                slope_before[j] = slope[j];
                slope[j] = next_slope;
            }
        }
        double least[width];
        for (Index j = 0; j < width; ++j) {
            const double size = std::max(std::abs(p[j]), std::abs(before[j]));
            const double scale = 1 / size;
            least[j] = size;
            p[j] *= scale;
            before[j] *= scale;
            slope[j] *= scale;
            slope_before[j] *= scale;
        }
        for (Index j = 0; j < width; ++j) smallest = least[j] > smallest ? smallest : least[j];
        if (!(smallest > vanished)) return false;
    }
    for (Index j = 0; j < width; ++j) {
        count[j] = above[j];
        step[j] = p[j] / slope[j];
    }
    return true;
}

/// Room for the vectors of up to `lanes` eigenvalues: n rows of `width` numbers each.
struct TwistRoom {
    double* l;
    double* u;
    double* forward;
    double* z;
};

inline double safe_pivot(double pivot, double pivot_min) {
    return std::abs(pivot) < pivot_min ? (pivot < 0 ? -pivot_min : pivot_min) : pivot;
}

/// Entries decay away from the twist, soon to denormal numbers, with which products take a hundred times as long.
inline double without_traces(double x) { return std::abs(x) < 1e-40 ? 0 : x; }

/// Unit vectors of `width` eigenvalues, lane by lane, left in room.z.
template <Index width>
COUPLET_INLINE void twist_body(std::span<const double> d, std::span<const double> e, const double* lambda,
                               double pivot_min, const TwistRoom& room) {
    const auto n = static_cast<Index>(d.size());
    // Forward multipliers l and backward multipliers u of T - lambda = L D L^T = U D U^T.
    double pivot[width];
    for (Index j = 0; j < width; ++j) room.forward[j] = pivot[j] = d[0] - lambda[j];
    for (Index i = 0; i + 1 < n; ++i) {
        const double ei = e[static_cast<std::size_t>(i)];
        const double next = d[static_cast<std::size_t>(i + 1)];
        for (Index j = 0; j < width; ++j) {
            const double factor = ei / safe_pivot(pivot[j], pivot_min);
            pivot[j] = (next - lambda[j]) - factor * ei;
            room.l[i * width + j] = factor;
            room.forward[(i + 1) * width + j] = pivot[j];
        }
    }
    double best[width];
    double twist[width];
    double last = d[static_cast<std::size_t>(n - 1)];
    for (Index j = 0; j < width; ++j) {
        best[j] = std::abs(pivot[j]);
        twist[j] = static_cast<double>(n - 1);
        pivot[j] = last - lambda[j];
    }
    for (Index i = n - 1; i-- > 0;) {
        const double ei = e[static_cast<std::size_t>(i)];
        const double di = d[static_cast<std::size_t>(i)];
        const auto here = static_cast<double>(i);
        for (Index j = 0; j < width; ++j) {
            const double factor = ei / safe_pivot(pivot[j], pivot_min);
            pivot[j] = (di - lambda[j]) - factor * ei;
            room.u[i * width + j] = factor;
            const double gamma = std::abs(room.forward[i * width + j] + pivot[j] - (di - lambda[j]));
            twist[j] = gamma < best[j] ? here : twist[j];
            best[j] = gamma < best[j] ? gamma : best[j];
        }
    }
    double x[width] = {};
    double sum[width] = {};
    for (Index i = n; i-- > 0;) {
        const auto here = static_cast<double>(i);
        const double* l = room.l + (i + 1 < n ? i : 0) * width;
        for (Index j = 0; j < width; ++j) {
            const double above = without_traces(-l[j] * x[j]);
            x[j] = here < twist[j] ? above : here == twist[j] ? 1.0 : 0.0;
            sum[j] += x[j] * x[j];
            room.z[i * width + j] = x[j];
        }
    }
    for (Index j = 0; j < width; ++j) x[j] = 0;
    for (Index i = 0; i < n; ++i) {
        const auto here = static_cast<double>(i);
        const double* u = room.u + (i > 0 ? i - 1 : 0) * width;
        double* z = room.z + i * width;
        for (Index j = 0; j < width; ++j) {
            const double below = without_traces(-u[j] * x[j]);
            x[j] = here > twist[j] ? below : z[j];
            sum[j] += here > twist[j] ? x[j] * x[j] : 0.0;
            z[j] = x[j];
        }
    }
    for (Index j = 0; j < width; ++j) sum[j] = 1 / std::sqrt(sum[j]);
    for (Index i = 0; i < n; ++i) {
        double* z = room.z + i * width;
        for (Index j = 0; j < width; ++j) z[j] *= sum[j];
    }
}

/// Raises worst[j] to the largest |T z - lambda z| of column j; it becomes no number where one of them is none.
COUPLET_INLINE void residual_body(std::span<const double> d, std::span<const double> e, const double* values,
                                  const Matrix<double>& z, double* worst) {
    const Index n = z.rows();
    const Index count = z.cols();
    for (Index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double di = d[at];
        const double before = i > 0 ? e[at - 1] : 0;
        const double after = i + 1 < n ? e[at] : 0;
        const double* row = z.data() + i * count;
        const double* above = i > 0 ? row - count : row;
        const double* below = i + 1 < n ? row + count : row;
        for (Index j = 0; j < count; ++j) {
            const double r = std::abs((di - values[j]) * row[j] + before * above[j] + after * below[j]);
            worst[j] = (r > worst[j] ? r : worst[j]) + (r - r);
        }
    }
}

/// The kernels for one kind of vector instructions, by the number of lanes over 8 where they differ.
struct Kernels {
    void (*sturm[4])(std::span<const double>, const double*, double, const double*, double*, double*);
    bool (*polynomials[4])(std::span<const double>, const double*, const double*, double*, double*);
    void (*twist[4])(std::span<const double>, std::span<const double>, const double*, double, const TwistRoom&);
    void (*residual)(std::span<const double>, std::span<const double>, const double*, const Matrix<double>&, double*);
};

#define COUPLET_KERNELS(name, attribute)                                                                           \
    template <Index width>                                                                                         \
    attribute void sturm_##name(std::span<const double> d, const double* e2, double pivot_min, const double* x,    \
                                double* count, double* step) {                                                     \
        sturm_body<width>(d, e2, pivot_min, x, count, step);                                                       \
    }                                                                                                              \
    template <Index width>                                                                                         \
    attribute bool polynomials_##name(std::span<const double> d, const double* e2, const double* x, double* count, \
                                      double* step) {                                                              \
        return polynomials_body<width>(d, e2, x, count, step);                                                     \
    }                                                                                                              \
    template <Index width>                                                                                         \
    attribute void twist_##name(std::span<const double> d, std::span<const double> e, const double* lambda,        \
                                double pivot_min, const TwistRoom& room) {                                         \
        twist_body<width>(d, e, lambda, pivot_min, room);                                                          \
    }                                                                                                              \
    attribute void residual_##name(std::span<const double> d, std::span<const double> e, const double* values,     \
                                   const Matrix<double>& z, double* worst) {                                       \
        residual_body(d, e, values, z, worst);                                                                     \
    }                                                                                                              \
    constexpr Kernels kernels_##name{                                                                              \
        {sturm_##name<8>, sturm_##name<16>, sturm_##name<24>, sturm_##name<32>},                                   \
        {polynomials_##name<8>, polynomials_##name<16>, polynomials_##name<24>, polynomials_##name<32>},           \
        {twist_##name<8>, twist_##name<16>, twist_##name<24>, twist_##name<32>},                                   \
        residual_##name};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

const Kernels& kernels() { return COUPLET_BEST_OF(kernels); }

/// Which of the kernels takes this many lanes, and how many it has.
std::size_t kernel_for(Index count) { return static_cast<std::size_t>((count - 1) / 8); }
Index width_of(std::size_t kernel) { return 8 * static_cast<Index>(kernel + 1); }

/// Where an eigenvalue lies, and how many lie above either end.
struct Bracket {
    double low;
    double high;
    double above_low;
    double above_high;
    bool is(const Bracket& other) const { return low == other.low && high == other.high; }
    /// Then no other eigenvalue disturbs Newton's method for long.
    bool is_single() const { return above_low - above_high == 1; }
};

/// Up to `lanes` consecutive eigenvalues, counted from the largest, found together: those that share a bracket cut it
/// in as many parts as they are and one more; one that is alone takes Newton's steps and ends by counting on both
/// sides of where it arrives.
class ValueSearch {
  public:
    ValueSearch(const Bounds& bounds, Index n, Index first, Index count)
        : first_(first),
          count_(count),
          delta_(roundoff * bounds.norm + std::numeric_limits<double>::min()),
          strides_(static_cast<std::size_t>(count), std::numeric_limits<double>::infinity()),
          brackets_(static_cast<std::size_t>(count), {bounds.low, bounds.high, static_cast<double>(n), 0}) {}

    /// The points to look at next, or false when every eigenvalue is known to about 3 u ||T||.
    bool place(const double* step, double* x) {
        bool open = false;
        for (Index a = 0, b = 0; a < count_; a = b) {
            b = group_end(a);
            const Bracket& bracket = at(a);
            open = open || bracket.high - bracket.low > 2.5 * delta_;
            if (b - a == 1 && bracket.is_single()) {
                x[a] = single_point(bracket, x[a], step[a], strides_[static_cast<std::size_t>(a)]);
            } else {
                divide(bracket, b - a, x + a);
            }
        }
        ++pass_;
        return open;
    }

    void narrow(const double* x, const double* count) {
        for (Index a = 0, b = 0; a < count_; a = b) {
            b = group_end(a);
            const Bracket whole = at(a);
            Index k = a;  // the group's points descend: those before k are above this eigenvalue
            for (Index j = a; j < b; ++j) {
                while (k < b && !(count[k] > static_cast<double>(first_ + j))) ++k;
                Bracket& own = at(j);
                if (k > a) {
                    own.high = x[k - 1];
                    own.above_high = count[k - 1];
                }
                if (k < b) {
                    own.low = x[k];
                    own.above_low = count[k];
                }
                if (!(own.low < own.high)) own = whole;  // rounding: a point that is an end already
            }
        }
    }

    /// Newton's last step is nearer than the middle of the bracket that confirms it.
    double value(Index j, double x, double step) const {
        const Bracket& own = brackets_[static_cast<std::size_t>(j)];
        const double arrived = x - step;
        const bool inside = own.is_single() && arrived >= own.low && arrived <= own.high;
        return inside ? arrived : 0.5 * (own.low + own.high);
    }

  private:
    Bracket& at(Index j) { return brackets_[static_cast<std::size_t>(j)]; }
    /// Lanes [a, end) look for eigenvalues in the same bracket.
    Index group_end(Index a) {
        Index b = a + 1;
        while (b < count_ && at(b).is(at(a))) ++b;
        return b;
    }

    /// Newton's steps are short where many other eigenvalues lie on the far side: one that is no half of the move
    /// before is not taken, and the bracket is halved instead.
    double single_point(const Bracket& bracket, double x, double step, double& stride) const {
        constexpr int patience = 40;
        const double arrived = x - step;
        const double middle = 0.5 * (bracket.low + bracket.high);
        if (pass_ > patience) return middle;
        // At the goal the point itself may be an end of the bracket; what remains is to count on the other side.
        if (std::abs(step) <= 1.5 * delta_ && arrived > bracket.low - delta_ && arrived < bracket.high + delta_) {
            return arrived > middle ? arrived - delta_ : arrived + delta_;
        }
        const bool pays = arrived > bracket.low && arrived < bracket.high && std::abs(step) <= 0.5 * stride;
        stride = pays ? std::abs(step) : 0.5 * (bracket.high - bracket.low);
        return pays ? arrived : middle;
    }

    /// Eigenvalues of very different size are told apart by points whose ratio is constant.
    void divide(const Bracket& bracket, Index parts, double* x) const {
        constexpr double wide = 64;
        const double low = std::max(bracket.low, std::ldexp(bracket.high, -48));
        if (pass_ % 2 == 1 && bracket.high > wide * low && low > bracket.low) {
            const double ratio = std::pow(low / bracket.high, 1 / static_cast<double>(parts));
            double point = bracket.high * ratio;
            for (Index i = 0; i < parts; ++i, point *= ratio) x[i] = point;
            return;
        }
        const double part = (bracket.high - bracket.low) / static_cast<double>(parts + 1);
        for (Index i = 0; i < parts; ++i) x[i] = bracket.high - static_cast<double>(i + 1) * part;
    }

    Index first_;
    Index count_;
    double delta_;
    int pass_ = 0;
    std::vector<double> strides_;  ///< how far each went last, where it is alone in its bracket
    std::vector<Bracket> brackets_;
};

/// Largest |T z - lambda z| over all columns, or no number.
double worst_residual(std::span<const double> d, std::span<const double> e, std::span<const double> values,
                      const Matrix<double>& z) {
    std::vector<double> worst(values.size(), 0.0);
    kernels().residual(d, e, values.data(), z, worst.data());
    double largest = 0;
    for (const double r : worst) largest = r <= largest ? largest : r;
    return largest;
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
    const auto blocks = Partition::blocks(count, lanes);
    parallel_for(blocks.count(), [&](Index block) {
        const Index first = blocks.begin(block);
        const Index own = blocks.length(block);
        const auto kernel = kernel_for(own);
        double x[lanes] = {};
        double seen[lanes] = {};
        double step[lanes] = {};
        double above[lanes];
        ValueSearch search(bounds, static_cast<Index>(d.size()), first, own);
        while (search.place(step, x)) {
            std::fill(x + own, x + width_of(kernel), x[own - 1]);
            if (!kernels().polynomials[kernel](d, e2.data(), x, above, step)) {
                kernels().sturm[kernel](d, e2.data(), pivot_min, x, above, step);
            }
            search.narrow(x, above);
            std::copy_n(x, lanes, seen);
        }
        for (Index j = 0; j < own; ++j) values[static_cast<std::size_t>(first + j)] = search.value(j, seen[j], step[j]);
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
    const auto blocks = Partition::blocks(count, lanes);
    parallel_for(blocks.count(), [&](Index block) {
        const Index first = blocks.begin(block);
        const Index own = blocks.length(block);
        const auto kernel = kernel_for(own);
        const Index width = width_of(kernel);
        double lambda[lanes];
        for (Index j = 0; j < width; ++j) lambda[j] = values[static_cast<std::size_t>(first + std::min(j, own - 1))];
        Matrix<double> room(4 * n, width);
        double* begin = room.data();
        const Index size = n * width;
        kernels().twist[kernel](d, e, lambda, pivot_min, {begin, begin + size, begin + 2 * size, begin + 3 * size});
        for (Index i = 0; i < n; ++i) std::copy_n(begin + 3 * size + i * width, own, z.view().row(i) + first);
    });
    if (!(worst_residual(d, e, values, z) <= 1e-13 * norm)) return {};
    auto overlap = product<double>(z.view(), z.view(), Op::transpose);
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
        // Z (3 I - Z^T Z) / 2 squares a small overlap away in one product (Bjorck and Bowie 1971).
        constexpr double squared_away = 1e-9;
        if (worst <= squared_away) {
            for (Index i = 0; i < count; ++i) {
                for (Index j = 0; j < count; ++j) overlap(i, j) = (i == j ? 1.5 : 0) - 0.5 * overlap(i, j);
            }
            z = product<double>(z.view(), overlap.view());
        } else {
            orthonormalise_columns(z.view());
        }
        if (!(worst_residual(d, e, values, z) <= 1e-13 * norm)) return {};
    }
    return z;
}

}  // namespace couplet
