#include "narrow.hpp"

#include <algorithm>
#include <cstring>

#include "couplet/core/operations.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;
constexpr Index widest = 64;
// Numbers of the rows that are multiplied with each other while they are in a first-level cache of 32 KiB.
constexpr Index chunk_numbers = 3072;

static_assert(sizeof(Lanes) == lanes * sizeof(double));

/// 8 x 8 block (bi, bj) of A^T A for `rows` rows of A, added to the same block of g; rows of both are `width` apart.
/// A line from `coming` on is called for with every row: it is there when its turn comes.
COUPLET_INLINE void block_gram(const double* a, Index rows, Index width, Index bi, Index bj, const double* coming,
                               double* g) {
    Lanes sum[lanes] = {};
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * width;
        __builtin_prefetch(coming + r * lanes);
        Lanes right;
        load(right, row + bj * lanes);
        for (Index i = 0; i < lanes; ++i) sum[i] += row[bi * lanes + i] * right;
    }
    for (Index i = 0; i < lanes; ++i) {
        Lanes out;
        double* at = g + (bi * lanes + i) * width + bj * lanes;
        load(out, at);
        out += sum[i];
        store(out, at);
    }
}

/// Rows whose width is no multiple of the lanes are filled up with zeros on the way.
COUPLET_INLINE void gram_body(MatrixView<const double> a, Index width, double* g) {
    double filled[chunk_numbers];
    std::fill_n(g, width * width, 0.0);
    const Index chunk = chunk_numbers / width;
    for (Index first = 0; first < a.rows; first += chunk) {
        const Index count = std::min(chunk, a.rows - first);
        const double* rows = a.row(first);
        if (a.cols != width || a.stride != width) {
            for (Index r = 0; r < count; ++r) {
                const double* from = a.row(first + r);
                double* to = filled + r * width;
                Index j = 0;
                for (; j + lanes <= a.cols; j += lanes) std::memcpy(to + j, from + j, lanes * sizeof(double));
                for (; j < a.cols; ++j) to[j] = from[j];
                for (; j < width; ++j) to[j] = 0;
            }
            rows = filled;
        }
        // The blocks together call for more lines than the next rows have.
        const double* coming = a.row(std::min(first + chunk, a.rows - 1));
        for (Index bi = 0; bi < width / lanes; ++bi) {
            for (Index bj = bi; bj < width / lanes; ++bj) {
                block_gram(rows, count, width, bi, bj, coming, g);
                coming += count * lanes;
            }
        }
    }
}

/// Products of 4 rows with 4 rows of `length` numbers.
COUPLET_INLINE void block_dots(const double* const* left, const double* const* right, Index length, double* sums) {
    Lanes sum[4][4] = {};
    Lanes x[4];
    Lanes y;
    const Index whole = length / lanes * lanes;
    for (Index k = 0; k < whole; k += lanes) {
        for (Index i = 0; i < 4; ++i) load(x[i], left[i] + k);
        for (Index j = 0; j < 4; ++j) {
            load(y, right[j] + k);
            for (Index i = 0; i < 4; ++i) sum[i][j] += x[i] * y;
        }
    }
    // Apart from what is left over: sums that are indexed in a loop of unknown length would live in memory.
    for (Index i = 0; i < 4; ++i) {
        for (Index j = 0; j < 4; ++j) sums[i * 4 + j] = couplet::sum(sum[i][j]);
    }
    for (Index k = whole; k < length; ++k) {
        for (Index i = 0; i < 4; ++i) {
            for (Index j = 0; j < 4; ++j) sums[i * 4 + j] += left[i][k] * right[j][k];
        }
    }
}

COUPLET_INLINE void rows_body(MatrixView<const double> a, MatrixView<double> g, bool first) {
    // 4 rows of so many numbers stay in a first-level cache, and all of them in a second-level one.
    constexpr Index chunk = 1024;
    for (Index k = 0; k < a.cols; k += chunk) {
        const Index length = std::min(chunk, a.cols - k);
        const bool overwrite = first && k == 0;
        const double* left[4];
        const double* right[4];
        double sums[16];
        for (Index i = 0; i < a.rows; i += 4) {
            for (Index l = 0; l < 4; ++l) left[l] = a.row(std::min(i + l, a.rows - 1)) + k;
            for (Index j = i; j < a.rows; j += 4) {
                for (Index l = 0; l < 4; ++l) right[l] = a.row(std::min(j + l, a.rows - 1)) + k;
                block_dots(left, right, length, sums);
                for (Index l = 0; l < std::min<Index>(4, a.rows - i); ++l) {
                    double* out = g.row(i + l);
                    for (Index m = 0; m < std::min<Index>(4, a.rows - j); ++m) {
                        out[j + m] = overwrite ? sums[l * 4 + m] : out[j + m] + sums[l * 4 + m];
                    }
                }
            }
        }
    }
}

COUPLET_INLINE void vector_body(const double* a, Index rows, Index n, const double* v, double* y) {
    Lanes weights[widest / lanes];
    const Index whole = n / lanes;
    for (Index b = 0; b < whole; ++b) load(weights[b], v + b * lanes);
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * n;
        Lanes sum = {};
        for (Index b = 0; b < whole; ++b) {
            Lanes part;
            load(part, row + b * lanes);
            sum += part * weights[b];
        }
        double total = couplet::sum(sum);
        for (Index j = whole * lanes; j < n; ++j) total += row[j] * v[j];
        y[r] = total;
    }
}

/// The kernels for one kind of vector instructions.
struct Kernels {
    void (*gram)(MatrixView<const double>, Index, double*);
    void (*rows)(MatrixView<const double>, MatrixView<double>, bool);
    void (*vector)(const double*, Index, Index, const double*, double*);
};

#define COUPLET_KERNELS(name, attribute)                                                                       \
    attribute void gram_##name(MatrixView<const double> a, Index width, double* g) { gram_body(a, width, g); } \
    attribute void rows_##name(MatrixView<const double> a, MatrixView<double> g, bool first) {                 \
        rows_body(a, g, first);                                                                                \
    }                                                                                                          \
    attribute void vector_##name(const double* a, Index rows, Index n, const double* v, double* y) {           \
        vector_body(a, rows, n, v, y);                                                                         \
    }                                                                                                          \
    constexpr Kernels kernels_##name{gram_##name, rows_##name, vector_##name};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

const Kernels& kernels() { return COUPLET_BEST_OF(kernels); }

}  // namespace

bool is_narrow(Index cols) noexcept { return cols > 0 && cols <= widest; }

void narrow_gram(MatrixView<const double> a, MatrixView<double> g, bool first) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.cols + 1));
    const Index width = (a.cols + lanes - 1) / lanes * lanes;
    double own[widest * widest];
    kernels().gram(a, width, own);
    for (Index i = 0; i < a.cols; ++i) {
        const double* from = own + i * width;
        double* to = g.row(i);
        for (Index j = i; j < a.cols; ++j) to[j] = first ? from[j] : to[j] + from[j];
    }
}

bool is_low(Index rows) noexcept { return is_narrow(rows) && simd_level() == SimdLevel::avx512; }

void low_gram(MatrixView<const double> a, MatrixView<double> g, bool first) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.rows + 1));
    kernels().rows(a, g, first);
}

void narrow_times_vector(MatrixView<const double> a, const double* v, double* y) {
    count_operations(2 * static_cast<double>(a.size()));
    kernels().vector(a.data, a.rows, a.cols, v, y);
}

}  // namespace couplet
