#include "narrow.hpp"

#include <algorithm>
#include <cstring>

#include "couplet/core/operations.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;
constexpr Index widest = 64;
// Numbers of the rows that are multiplied with each other while they are in a first-level cache of 32 KiB.
constexpr Index chunk_numbers = 3072;

typedef double Lanes __attribute__((vector_size(lanes * sizeof(double))));

#define COUPLET_INLINE inline __attribute__((always_inline))

COUPLET_INLINE void load(Lanes& to, const double* from) { std::memcpy(&to, from, sizeof to); }

/// 8 x 8 block (bi, bj) of the products of `rows` rows of a and of g, both `width` apart, added to g.
COUPLET_INLINE void block_gram(const double* a, Index rows, Index width, Index bi, Index bj, double* g) {
    Lanes sum[lanes] = {};
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * width;
        Lanes right;
        load(right, row + bj * lanes);
        for (Index i = 0; i < lanes; ++i) sum[i] += row[bi * lanes + i] * right;
    }
    for (Index i = 0; i < lanes; ++i) {
        Lanes out;
        double* at = g + (bi * lanes + i) * width + bj * lanes;
        load(out, at);
        out += sum[i];
        std::memcpy(at, &out, sizeof out);
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
        for (Index bi = 0; bi < width / lanes; ++bi) {
            for (Index bj = bi; bj < width / lanes; ++bj) block_gram(rows, count, width, bi, bj, g);
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
        double total = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        for (Index j = whole * lanes; j < n; ++j) total += row[j] * v[j];
        y[r] = total;
    }
}

void gram_baseline(MatrixView<const double> a, Index width, double* g) { gram_body(a, width, g); }
void vector_baseline(const double* a, Index rows, Index n, const double* v, double* y) {
    vector_body(a, rows, n, v, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void gram_avx2(MatrixView<const double> a, Index width, double* g) {
    gram_body(a, width, g);
}
__attribute__((target("avx2,fma"))) void vector_avx2(const double* a, Index rows, Index n, const double* v, double* y) {
    vector_body(a, rows, n, v, y);
}
__attribute__((target("avx512f,avx512vl,fma"))) void gram_avx512(MatrixView<const double> a, Index width, double* g) {
    gram_body(a, width, g);
}
__attribute__((target("avx512f,avx512vl,fma"))) void vector_avx512(const double* a, Index rows, Index n,
                                                                   const double* v, double* y) {
    vector_body(a, rows, n, v, y);
}
#endif

}  // namespace

SimdLevel simd_level() noexcept {
#if defined(__x86_64__)
    static const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return avx512 ? SimdLevel::avx512 : avx2 ? SimdLevel::avx2 : SimdLevel::baseline;
#else
    return SimdLevel::baseline;
#endif
}

bool is_narrow(Index cols) noexcept { return cols > 0 && cols <= widest; }

void narrow_gram(MatrixView<const double> a, MatrixView<double> g, bool first) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.cols + 1));
    const Index width = (a.cols + lanes - 1) / lanes * lanes;
    double own[widest * widest];
#if defined(__x86_64__)
    if (simd_level() == SimdLevel::avx512) {
        gram_avx512(a, width, own);
    } else if (simd_level() == SimdLevel::avx2) {
        gram_avx2(a, width, own);
    } else {
        gram_baseline(a, width, own);
    }
#else
    gram_baseline(a, width, own);
#endif
    for (Index i = 0; i < a.cols; ++i) {
        const double* from = own + i * width;
        double* to = g.row(i);
        for (Index j = i; j < a.cols; ++j) to[j] = first ? from[j] : to[j] + from[j];
    }
}

void narrow_times_vector(MatrixView<const double> a, const double* v, double* y) {
    count_operations(2 * static_cast<double>(a.size()));
#if defined(__x86_64__)
    if (simd_level() == SimdLevel::avx512) return vector_avx512(a.data, a.rows, a.cols, v, y);
    if (simd_level() == SimdLevel::avx2) return vector_avx2(a.data, a.rows, a.cols, v, y);
#endif
    vector_baseline(a.data, a.rows, a.cols, v, y);
}

}  // namespace couplet
