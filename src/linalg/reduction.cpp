#include "reduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "blas.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/tensor/partition.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;
/// Largest rest that is swept column by column: half of its square stays in the second-level caches of two cores.
constexpr Index most_swept = 576;
/// Columns that are collected before a larger rest is updated.
constexpr Index panel = 24;
static_assert(panel % lanes == 0, "a rest begins with a whole block");

static_assert(sizeof(Lanes) == lanes * sizeof(double));

/// One pass over rows of the upper triangle. Vectors are as long as a row and zero where the matrix is done with; the
/// diagonal blocks of `lanes` are kept whole, so that no loop has an end of its own.
struct Sweep {
    double* a;
    Index width;
    Index stride;
    const double* v;         ///< multiplied by: y += A v
    const double* update_v;  ///< A -= update_v update_w^T + update_w update_v^T first
    const double* update_w;
};

template <bool with_update>
COUPLET_INLINE void element(Lanes& x, double* at, double row_v, double row_w, const Lanes& uv, const Lanes& uw) {
    load(x, at);
    if constexpr (with_update) {
        x -= row_v * uw;
        x -= row_w * uv;
        store(x, at);
    }
}

/// Rows [first, last), both multiples of `lanes`; adds to y.
template <bool with_update>
COUPLET_INLINE void sweep_body(const Sweep& s, Index first, Index last, double* y) {
    constexpr Index together = 4;
    const Index stride = s.stride;
    const Index width = s.width;
    const double* const by = s.v;
    const double* const update_v = s.update_v;
    const double* const update_w = s.update_w;
    Lanes x;
    Lanes v;
    Lanes uv = {};
    Lanes uw = {};
    for (Index block = first; block < last; block += lanes) {
        for (Index row = block; row < block + lanes; row += together) {
            double* a = s.a + row * stride;
            // Copies: for all the compiler knows, the stores below might change the originals.
            double row_of_v[together];
            double row_v[together];
            double row_w[together];
            for (Index i = 0; i < together; ++i) {
                row_of_v[i] = by[row + i];
                row_v[i] = update_v[row + i];
                row_w[i] = update_w[row + i];
            }
            Lanes dot[together] = {};
            load(v, by + block);
            load(uv, update_v + block);
            load(uw, update_w + block);
            for (Index i = 0; i < together; ++i) {
                element<with_update>(x, a + i * stride + block, row_v[i], row_w[i], uv, uw);
                dot[i] += x * v;
            }
            for (Index c = block + lanes; c < width; c += lanes) {
                load(v, by + c);
                if constexpr (with_update) {
                    load(uv, update_v + c);
                    load(uw, update_w + c);
                }
                Lanes out;
                load(out, y + c);
                for (Index i = 0; i < together; ++i) {
                    element<with_update>(x, a + i * stride + c, row_v[i], row_w[i], uv, uw);
                    dot[i] += x * v;
                    out += row_of_v[i] * x;
                }
                store(out, y + c);
            }
            for (Index i = 0; i < together; ++i) y[row + i] += sum(dot[i]);
        }
    }
}

/// y -= alpha x, whole blocks from `first` on.
COUPLET_INLINE void subtract_body(double alpha, const double* x, Index first, Index end, double* y) {
    Lanes from;
    Lanes to;
    for (Index j = first / lanes * lanes; j < end; j += lanes) {
        load(from, x + j);
        load(to, y + j);
        store(to - alpha * from, y + j);
    }
}

/// H_i on a block of rows of `vectors * lanes` numbers; v and tau are its own.
template <Index vectors>
COUPLET_INLINE void reflect_once(const double* v, double tau, Index i, Index n, double* z) {
    constexpr Index width = vectors * lanes;
    Lanes x;
    double* first = z + (i + 1) * width;
    Lanes w[vectors];
    for (Index c = 0; c < vectors; ++c) load(w[c], first + c * lanes);
    for (Index r = i + 2; r < n; ++r) {
        for (Index c = 0; c < vectors; ++c) {
            load(x, z + r * width + c * lanes);
            w[c] += v[r] * x;
        }
    }
    for (Index c = 0; c < vectors; ++c) {
        w[c] *= tau;
        load(x, first + c * lanes);
        store(x - w[c], first + c * lanes);
    }
    for (Index r = i + 2; r < n; ++r) {
        for (Index c = 0; c < vectors; ++c) {
            load(x, z + r * width + c * lanes);
            store(x - v[r] * w[c], z + r * width + c * lanes);
        }
    }
}

/// H_{i-1} H_i: the rows are read twice for both, not for each.
template <Index vectors>
COUPLET_INLINE void reflect_twice(const double* v, const double* u, const double* tau, Index i, Index n, double* z) {
    constexpr Index width = vectors * lanes;
    Lanes x;
    Lanes a[vectors];  // v^T Z
    Lanes b[vectors];  // u^T Z
    double* first = z + i * width;
    double overlap = u[i + 1];
    for (Index c = 0; c < vectors; ++c) {
        load(b[c], first + c * lanes);
        load(a[c], first + width + c * lanes);
        b[c] += u[i + 1] * a[c];
    }
    for (Index r = i + 2; r < n; ++r) {
        overlap += u[r] * v[r];
        for (Index c = 0; c < vectors; ++c) {
            load(x, z + r * width + c * lanes);
            a[c] += v[r] * x;
            b[c] += u[r] * x;
        }
    }
    for (Index c = 0; c < vectors; ++c) {
        a[c] *= tau[i];
        b[c] = tau[i - 1] * (b[c] - overlap * a[c]);
        load(x, first + c * lanes);
        store(x - b[c], first + c * lanes);
        load(x, first + width + c * lanes);
        store(x - a[c] - u[i + 1] * b[c], first + width + c * lanes);
    }
    for (Index r = i + 2; r < n; ++r) {
        for (Index c = 0; c < vectors; ++c) {
            load(x, z + r * width + c * lanes);
            store(x - v[r] * a[c] - u[r] * b[c], z + r * width + c * lanes);
        }
    }
}

/// The reflectors of a reduction, last first.
template <Index vectors>
COUPLET_INLINE void reflect_body(const double* reflectors, Index stride, const double* tau, Index n, double* z) {
    Index i = n - 2;
    for (; i > 0; i -= 2) {
        const double* v = reflectors + i * stride;
        reflect_twice<vectors>(v, v - stride, tau, i, n, z);
    }
    if (i == 0) reflect_once<vectors>(reflectors, tau[0], 0, n, z);
}

/// Most columns that are reflected at once: four vectors.
constexpr Index most_reflected = 4 * lanes;

/// The kernels for one kind of vector instructions.
struct Kernels {
    void (*sweep)(const Sweep&, Index, Index, double*);
    void (*multiply)(const Sweep&, Index, Index, double*);
    void (*subtract)(double, const double*, Index, Index, double*);
    double (*dot)(const double*, const double*, Index, Index);
    void (*reflect[4])(const double*, Index, const double*, Index, double*);  ///< by the vectors in a row, less one
};

#define COUPLET_KERNELS(name, attribute)                                                                  \
    attribute void sweep_##name(const Sweep& s, Index first, Index last, double* y) {                     \
        sweep_body<true>(s, first, last, y);                                                              \
    }                                                                                                     \
    attribute void multiply_##name(const Sweep& s, Index first, Index last, double* y) {                  \
        sweep_body<false>(s, first, last, y);                                                             \
    }                                                                                                     \
    attribute void subtract_##name(double alpha, const double* x, Index first, Index end, double* y) {    \
        subtract_body(alpha, x, first, end, y);                                                           \
    }                                                                                                     \
    attribute double dot_##name(const double* x, const double* y, Index first, Index end) {               \
        return dot_of_blocks(x, y, first, end);                                                           \
    }                                                                                                     \
    template <Index vectors>                                                                              \
    attribute void reflect_##name(const double* v, Index stride, const double* tau, Index n, double* z) { \
        reflect_body<vectors>(v, stride, tau, n, z);                                                      \
    }                                                                                                     \
    constexpr Kernels kernels_##name{sweep_##name,                                                        \
                                     multiply_##name,                                                     \
                                     subtract_##name,                                                     \
                                     dot_##name,                                                          \
                                     {reflect_##name<1>, reflect_##name<2>, reflect_##name<3>, reflect_##name<4>}};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

const Kernels& kernels() { return COUPLET_BEST_OF(kernels); }

Index whole_blocks(Index n) { return (n + lanes - 1) / lanes * lanes; }

/// Rows that are a power of two apart would fight for the same lines of the cache.
Index odd_blocks(Index width) { return width + (width / lanes % 2 == 0 ? lanes : 0); }

/// The matrix while it is being reduced. Columns are done from the first on; vectors are rows of `stride` numbers.
class Reducer {
  public:
    Reducer(MatrixView<const double> a, int exponent)
        : n_(a.rows),
          width_(whole_blocks(n_)),
          stride_(odd_blocks(width_)),
          a_(Matrix<double>::zeros(width_, stride_)) {
        for (Index i = 0; i < n_; ++i) scale_by_power(a.row(i), n_, -exponent, a_.view().row(i));
        result_.order = n_;
        result_.diagonal.resize(static_cast<std::size_t>(n_));
        result_.off_diagonal.resize(static_cast<std::size_t>(n_ - 1));
        result_.tau.resize(static_cast<std::size_t>(n_ - 1));
    }

    Reduction run() && {
        Index next = 0;
        while (n_ - next > most_swept + panel) {
            reduce_panel(next);
            next += panel;
        }
        sweep_rest(next);
        result_.reflectors = std::move(a_);
        return std::move(result_);
    }

  private:
    /// Row i as it is now, from the diagonal on, becomes T's entries and H_i, whose vector is left in `v`.
    void reflect(Index i, double* x, double* v) {
        const auto at = static_cast<std::size_t>(i);
        result_.diagonal[at] = x[i];
        double* row = a_.view().row(i);
        std::fill_n(v, width_, 0.0);
        if (i + 1 == n_) return;
        const double alpha = x[i + 1];
        // The norm of what is to vanish, without the blocks' other entries.
        std::fill_n(x + i / lanes * lanes, i + 2 - i / lanes * lanes, 0.0);
        const double rest2 = kernels_.dot(x, x, i + 2 < n_ ? i + 2 : i + 1, width_);
        double tau = 0;
        double beta = alpha;
        // Below this the squares have lost their digits; beside a norm of 1 it is nothing.
        constexpr double nothing = 1e-280;
        if (rest2 > nothing) {
            beta = -std::copysign(std::sqrt(alpha * alpha + rest2), alpha);
            tau = (beta - alpha) / beta;
            const double scale = 1 / (alpha - beta);
            for (Index j = i + 2; j < n_; ++j) v[j] = row[j] = x[j] * scale;
        } else {
            std::fill(row + std::min(i + 2, width_), row + width_, 0.0);
        }
        v[i + 1] = 1;
        result_.off_diagonal[at] = beta;
        result_.tau[at] = tau;
    }

    /// y = A v over the rest from row `first` on, shared out in a way that depends on its size alone.
    void apply(const Sweep& s, Index first, void (*kernel)(const Sweep&, Index, Index, double*), double* y) {
        const Index begin = first / lanes * lanes;
        const Index size = width_ - begin;
        // Below this a column is done in less time than it takes to call for help.
        constexpr Index worth_sharing = 256;
        const Index parts = size < worth_sharing ? 1 : size < 2 * worth_sharing ? 2 : size < 4 * worth_sharing ? 4 : 8;
        std::fill(y + begin, y + width_, 0.0);
        if (parts == 1) return kernel(s, begin, width_, y);
        if (partial_.rows() < parts) partial_ = Matrix<double>(8, width_);
        parallel_for(parts, [&](Index p) {
            double* own = partial_.view().row(p);
            const Index from = begin + share_begin(size, p, parts);
            std::fill(own + from, own + width_, 0.0);
            kernel(s, from, begin + share_begin(size, p + 1, parts), own);
        });
        for (Index p = 0; p < parts; ++p) {
            kernels_.subtract(-1, partial_.view().row(p), begin + share_begin(size, p, parts), width_, y);
        }
    }

    /// Where share p of a triangle of this size begins, all of about the same area.
    static Index share_begin(Index size, Index p, Index parts) {
        if (p == parts) return size;
        const double left = 1 - static_cast<double>(p) / static_cast<double>(parts);
        return static_cast<Index>(static_cast<double>(size) * (1 - std::sqrt(left))) / lanes * lanes;
    }

    /// w = tau y - tau^2 / 2 (y, v) v: the update of the rest is A - v w^T - w v^T.
    void update_vector(double tau, const double* v, const double* y, Index first, double* w) {
        std::fill_n(w, width_, 0.0);
        kernels_.subtract(-tau, y, first, width_, w);
        std::fill_n(w + first / lanes * lanes, first - first / lanes * lanes, 0.0);
        kernels_.subtract(0.5 * tau * kernels_.dot(w, v, first, width_), v, first, width_, w);
    }

    /// One column a pass, the update of the column before on the way.
    void sweep_rest(Index next) {
        auto vectors = Matrix<double>::zeros(5, width_);
        double* v = vectors.view().row(0);
        double* update_v = vectors.view().row(1);
        double* update_w = vectors.view().row(2);
        double* x = vectors.view().row(3);
        double* y = vectors.view().row(4);
        for (Index i = next; i < n_; ++i) {
            std::copy_n(a_.view().row(i), width_, x);
            kernels_.subtract(update_v[i], update_w, i, width_, x);
            kernels_.subtract(update_w[i], update_v, i, width_, x);
            update_v[i] = update_w[i] = 0;
            reflect(i, x, v);
            if (i + 1 == n_) break;
            const Sweep s{a_.data(), width_, stride_, v, update_v, update_w};
            apply(s, i + 1, kernels_.sweep, y);
            update_vector(result_.tau[static_cast<std::size_t>(i)], v, y, i + 1, update_w);
            std::swap(v, update_v);
        }
    }

    /// `panel` columns whose updates wait until all are known (Dongarra, Hammarling and Sorensen 1989).
    void reduce_panel(Index first) {
        // Rows 0.. of the first half: v of each column, of the second: w.
        auto both = Matrix<double>::zeros(2 * panel, width_);
        auto vectors = Matrix<double>::zeros(2, width_);
        double* x = vectors.view().row(0);
        double* y = vectors.view().row(1);
        for (Index k = 0; k < panel; ++k) {
            const Index i = first + k;
            std::copy_n(a_.view().row(i), width_, x);
            for (Index j = 0; j < k; ++j) {
                const double* v = both.view().row(j);
                const double* w = both.view().row(panel + j);
                kernels_.subtract(v[i], w, i, width_, x);
                kernels_.subtract(w[i], v, i, width_, x);
            }
            double* v = both.view().row(k);
            reflect(i, x, v);
            apply({a_.data(), width_, stride_, v, v, v}, i + 1, kernels_.multiply, y);
            for (Index j = 0; j < k; ++j) {
                const double* vj = both.view().row(j);
                const double* wj = both.view().row(panel + j);
                const double wv = kernels_.dot(wj, v, i + 1, width_);
                const double vv = kernels_.dot(vj, v, i + 1, width_);
                kernels_.subtract(wv, vj, i + 1, width_, y);
                kernels_.subtract(vv, wj, i + 1, width_, y);
            }
            update_vector(result_.tau[static_cast<std::size_t>(i)], v, y, i + 1, both.view().row(panel + k));
        }
        update_trailing(both, first + panel);
    }

    /// A -= V^T W + W^T V from row `first` on, a band of rows of the upper triangle at a time.
    void update_trailing(const Matrix<double>& both, Index first) {
        Matrix<double> swapped(2 * panel, width_);
        std::copy_n(both.data(), panel * width_, swapped.data() + panel * width_);
        std::copy_n(both.data() + panel * width_, panel * width_, swapped.data());
        constexpr Index band = 64;
        const Index begin = first / lanes * lanes;
        const auto bands = Partition::blocks(width_ - begin, band);
        parallel_for(bands.count(), [&](Index b) {
            const Index row = begin + bands.begin(b);
            blas::gemm(true, false, bands.length(b), width_ - row, 2 * panel, -1.0, both.data() + row, width_,
                       swapped.data() + row, width_, 1.0, a_.data() + row * stride_ + row, stride_);
        });
    }

    Index n_;
    Index width_;
    Index stride_;
    Matrix<double> a_;
    Matrix<double> partial_;
    Reduction result_;
    const Kernels& kernels_ = kernels();
};

}  // namespace

Reduction tridiagonalise(MatrixView<const double> a) {
    const auto n = static_cast<double>(a.rows);
    count_operations(4.0 / 3 * n * n * n);
    const int exponent = magnitude_exponent(max_magnitude(a));
    auto result = Reducer(a, exponent).run();
    if (exponent != 0) {
        for (double& x : result.diagonal) x = std::ldexp(x, exponent);
        for (double& x : result.off_diagonal) x = std::ldexp(x, exponent);
    }
    return result;
}

void apply_one_by_one(const Matrix<double>& reflectors, const std::vector<double>& tau, Matrix<double>& z) {
    const Index n = z.rows();
    const auto columns = Partition::blocks(z.cols(), most_reflected);
    parallel_for(columns.count(), [&](Index p) {
        const Index first = columns.begin(p);
        const Index count = columns.length(p);
        const Index width = whole_blocks(count);
        Matrix<double> block(n, width);
        for (Index i = 0; i < n; ++i) {
            double* row = block.data() + i * width;
            std::copy_n(z.view().row(i) + first, count, row);
            std::fill(row + count, row + width, 0.0);
        }
        kernels().reflect[width / lanes - 1](reflectors.data(), reflectors.cols(), tau.data(), n, block.data());
        for (Index i = 0; i < n; ++i) std::copy_n(block.data() + i * width, count, z.view().row(i) + first);
    });
}

}  // namespace couplet
