#include "packed.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "simd.hpp"

namespace couplet {

#if defined(__x86_64__)

namespace {

/// Numbers in a vector, columns in a panel, and rows of a tile.
constexpr Index lanes = 8;
/// Panels side by side in a tile: with eight rows 24 sums, which leaves registers for what is multiplied.
constexpr Index most_panels = 3;
/// Rows of a panel at a time: one panel stays in the first-level cache.
constexpr Index deepest = 256;
/// Numbers packed at a time: they stay in the second-level cache.
constexpr Index most_packed = Index{1} << 16;

static_assert(sizeof(Lanes) == lanes * sizeof(double));

/// Room for panels that stays with the thread.
double* workspace(Index numbers) {
    struct Free {
        void operator()(double* at) const { ::operator delete (at, std::align_val_t{64}); }
    };
    thread_local std::unique_ptr<double, Free> room;
    thread_local Index size = 0;
    if (size < numbers) {
        room.reset();
        size = 0;
        room.reset(static_cast<double*>(
            ::operator new (sizeof(double) * static_cast<std::size_t>(numbers), std::align_val_t{64})));
        size = numbers;
    }
    return room.get();
}

Index panels_of(Index columns) { return (columns + lanes - 1) / lanes; }

/// depth x width numbers, rows `stride` apart, as panels: for each eight columns depth rows of eight, zeros at the end.
COUPLET_AVX512 void pack_rows(const double* from, Index stride, Index depth, Index width, double* to) {
    const Index whole = width / lanes;
    const Index rest = width % lanes;
    Lanes x;
    for (Index r = 0; r < depth; ++r) {
        const double* row = from + r * stride;
        double* out = to + r * lanes;
        for (Index p = 0; p < whole; ++p) {
            load(x, row + p * lanes);
            store(x, out + p * depth * lanes);
        }
        if (rest == 0) continue;
        x = Lanes{};
        for (Index j = 0; j < rest; ++j) x[j] = row[whole * lanes + j];
        store(x, out + whole * depth * lanes);
    }
}

#define COUPLET_PAIR(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/// Eight rows of eight become columns.
COUPLET_INLINE void transpose_block(Lanes (&x)[lanes]) {
    Lanes t[lanes];
    for (Index i = 0; i < lanes; i += 2) {
        t[i] = COUPLET_PAIR(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = COUPLET_PAIR(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    Lanes u[lanes];
    for (Index i = 0; i < lanes; i += 4) {
        for (Index odd = 0; odd < 2; ++odd) {
            u[i + odd] = COUPLET_PAIR(t[i + odd], t[i + 2 + odd], 0, 1, 8, 9, 4, 5, 12, 13);
            u[i + 2 + odd] = COUPLET_PAIR(t[i + odd], t[i + 2 + odd], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (Index i = 0; i < 4; ++i) {
        x[i] = COUPLET_PAIR(u[i], u[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
        x[4 + i] = COUPLET_PAIR(u[i], u[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#undef COUPLET_PAIR

/// The same of a matrix that is there transposed: width x depth.
COUPLET_AVX512 void pack_columns(const double* from, Index stride, Index depth, Index width, double* to) {
    for (Index p = 0; p < panels_of(width); ++p) {
        const Index count = std::min(lanes, width - p * lanes);
        const double* rows = from + p * lanes * stride;
        double* out = to + p * depth * lanes;
        Index k = 0;
        if (count == lanes) {
            for (; k + lanes <= depth; k += lanes) {
                Lanes x[lanes];
                for (Index i = 0; i < lanes; ++i) load(x[i], rows + i * stride + k);
                transpose_block(x);
                for (Index i = 0; i < lanes; ++i) store(x[i], out + (k + i) * lanes);
            }
        }
        for (; k < depth; ++k) {
            for (Index i = 0; i < lanes; ++i) out[k * lanes + i] = i < count ? rows[i * stride + k] : 0.0;
        }
    }
}

/// What a tile is added to: C <- alpha AB + beta C.
struct Target {
    double* c;
    Index stride;
    Index rows;
    Index cols;
    double alpha;
    double beta;
};

template <Index panels>
COUPLET_INLINE void store_tile(const Lanes (&sum)[lanes][panels], const Target& to) {
    if (to.cols == panels * lanes && to.rows == lanes) {
#pragma GCC unroll 8
        for (Index i = 0; i < lanes; ++i) {
#pragma GCC unroll 3
            for (Index p = 0; p < panels; ++p) {
                double* at = to.c + i * to.stride + p * lanes;
                Lanes x = to.alpha * sum[i][p];
                if (to.beta != 0) {
                    Lanes before;
                    load(before, at);
                    x += to.beta * before;
                }
                store(x, at);
            }
        }
        return;
    }
    double all[lanes * panels * lanes];
#pragma GCC unroll 8
    for (Index i = 0; i < lanes; ++i) {
#pragma GCC unroll 3
        for (Index p = 0; p < panels; ++p) store(sum[i][p], all + (i * panels + p) * lanes);
    }
    for (Index i = 0; i < to.rows; ++i) {
        for (Index j = 0; j < to.cols; ++j) {
            double& at = to.c[i * to.stride + j];
            const double x = to.alpha * all[i * panels * lanes + j];
            at = to.beta != 0 ? x + to.beta * at : x;
        }
    }
}

/// Eight rows times so many panels of B, `depth` products each. Number k of row i of A is a[k a_step + i a_next].
template <Index panels>
COUPLET_AVX512 void tile(const double* a, Index a_step, Index a_next, const double* b, Index depth, const Target& to) {
    Lanes sum[lanes][panels] = {};
    if (to.beta != 0) {
        for (Index i = 0; i < to.rows; ++i) {
            for (Index p = 0; p < panels; ++p) __builtin_prefetch(to.c + i * to.stride + p * lanes, 1);
        }
    }
    for (Index k = 0; k < depth; ++k) {
        Lanes x[panels];
        for (Index p = 0; p < panels; ++p) load(x[p], b + (p * depth + k) * lanes);
        const double* at = a + k * a_step;
#pragma GCC unroll 8
        for (Index i = 0; i < lanes; ++i) {
            const double factor = at[i * a_next];
            for (Index p = 0; p < panels; ++p) sum[i][p] += factor * x[p];
        }
    }
    store_tile<panels>(sum, to);
}

/// Eight rows times all panels from `first` on.
void row_of_tiles(const double* a, Index a_step, Index a_next, const double* b, Index depth, Index first, Index width,
                  Target to) {
    double* const c = to.c;
    for (Index p = first; p < panels_of(width);) {
        const Index left = panels_of(width) - p;
        // Four as two and two: a tile of one panel waits for its sums.
        const Index count = left == 4 ? 2 : std::min(left, most_panels);
        to.c = c + p * lanes;
        to.cols = std::min(count * lanes, width - p * lanes);
        const double* panel = b + p * depth * lanes;
        if (count == 3) {
            tile<3>(a, a_step, a_next, panel, depth, to);
        } else if (count == 2) {
            tile<2>(a, a_step, a_next, panel, depth, to);
        } else {
            tile<1>(a, a_step, a_next, panel, depth, to);
        }
        p += count;
    }
}

/// Numbers that are packed next, rows `stride` apart: they come while others are multiplied.
struct Coming {
    const double* from = nullptr;
    Index stride = 0;
    Index rows = 0;
    Index cols = 0;

    /// Calls for the rows of share `part` of `parts`.
    void fetch(Index part, Index parts) const {
        for (Index r = rows * part / parts; r < rows * (part + 1) / parts; ++r) {
            for (Index j = 0; j < cols; j += lanes) __builtin_prefetch(from + r * stride + j, 0, 2);
        }
    }
};

/// Even blocks, none longer than `most`.
Index even_block(Index size, Index most) {
    const Index blocks = (size + most - 1) / most;
    return (size + blocks - 1) / blocks;
}

}  // namespace

bool packs_product(Index m, Index n, Index k) noexcept {
    // B is packed for the rows of A: fewer than this do not pay for it.
    constexpr Index fewest_rows = 4 * lanes;
    constexpr double least = 3e4;
    return m >= fewest_rows && n >= lanes && k >= lanes &&
           static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) >= least &&
           simd_level() == SimdLevel::avx512;
}

void packed_gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda,
                 const double* b, Index ldb, double beta, double* c, Index ldc) {
    const Index depth = even_block(k, deepest);
    const Index width = panels_of(even_block(n, most_packed / depth)) * lanes;
    double* packed = workspace((width + lanes) * depth);
    double* rows = packed + width * depth;
    for (Index k0 = 0; k0 < k; k0 += depth) {
        const Index kd = std::min(depth, k - k0);
        for (Index n0 = 0; n0 < n; n0 += width) {
            const Index nd = std::min(width, n - n0);
            if (trans_b) {
                pack_columns(b + n0 * ldb + k0, ldb, kd, nd, packed);
            } else {
                pack_rows(b + k0 * ldb + n0, ldb, kd, nd, packed);
            }
            const bool last_columns = n0 + width >= n;
            const Index next_k = last_columns ? k0 + depth : k0;
            const Index next_n = last_columns ? 0 : n0 + width;
            Coming coming;
            if (next_k < k) {
                const Index rows_left = std::min(depth, k - next_k);
                const Index columns_left = std::min(width, n - next_n);
                coming = trans_b ? Coming{b + next_n * ldb + next_k, ldb, columns_left, rows_left}
                                 : Coming{b + next_k * ldb + next_n, ldb, rows_left, columns_left};
            }
            for (Index i = 0; i < m; i += lanes) {
                coming.fetch(i / lanes, panels_of(m));
                const Index count = std::min(lanes, m - i);
                const Target to{c + i * ldc + n0, ldc, count, nd, alpha, k0 == 0 ? beta : 1.0};
                if (trans_a) {
                    pack_rows(a + k0 * lda + i, lda, kd, count, rows);
                    row_of_tiles(rows, lanes, 1, packed, kd, 0, nd, to);
                } else if (count < lanes) {
                    pack_columns(a + i * lda + k0, lda, kd, count, rows);
                    row_of_tiles(rows, lanes, 1, packed, kd, 0, nd, to);
                } else {
                    row_of_tiles(a + i * lda + k0, 1, lda, packed, kd, 0, nd, to);
                }
            }
        }
    }
}

void packed_syrk(bool trans, Index n, Index k, const double* a, Index lda, double beta, double* c, Index ldc) {
    const Index width = panels_of(n) * lanes;
    const Index depth = even_block(k, std::clamp<Index>(most_packed / width, 64, deepest));
    double* packed = workspace(width * depth);
    for (Index k0 = 0; k0 < k; k0 += depth) {
        const Index kd = std::min(depth, k - k0);
        if (trans) {
            pack_rows(a + k0 * lda, lda, kd, n, packed);
        } else {
            pack_columns(a + k0, lda, kd, n, packed);
        }
        Coming coming;
        if (const Index left = std::min(depth, k - k0 - kd); left > 0) {
            coming = trans ? Coming{a + (k0 + kd) * lda, lda, left, n} : Coming{a + k0 + kd, lda, n, left};
        }
        for (Index p = 0; p < panels_of(n); ++p) {
            coming.fetch(p, panels_of(n));
            const Index i = p * lanes;
            const Target to{c + i * ldc, ldc, std::min(lanes, n - i), n, 1.0, k0 == 0 ? beta : 1.0};
            row_of_tiles(packed + p * kd * lanes, lanes, 1, packed, kd, p, n, to);
        }
    }
}

#else

bool packs_product(Index, Index, Index) noexcept { return false; }
void packed_gemm(bool, bool, Index, Index, Index, double, const double*, Index, const double*, Index, double, double*,
                 Index) {}
void packed_syrk(bool, Index, Index, const double*, Index, double, double*, Index) {}

#endif

}  // namespace couplet
