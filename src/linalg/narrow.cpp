#include "narrow.hpp"

#include <algorithm>
#include <cstring>

#include "couplet/core/operations.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;
constexpr Index widest = 32;
// Rows whose products stay in registers before they are added up; 128 rows of 32 doubles fill an L1 cache.
constexpr Index chunk = 128;

typedef double Lanes __attribute__((vector_size(lanes * sizeof(double))));

#define COUPLET_INLINE inline __attribute__((always_inline))

COUPLET_INLINE void load(Lanes& to, const double* from) { std::memcpy(&to, from, sizeof to); }

/// 8 x 8 block (bi, bj) of the products of `rows` rows, added to g.
COUPLET_INLINE void block_gram(const double* a, Index rows, Index n, Index bi, Index bj, double* g) {
    Lanes sum[lanes] = {};
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * n;
        Lanes right;
        load(right, row + bj * lanes);
        for (Index i = 0; i < lanes; ++i) sum[i] += row[bi * lanes + i] * right;
    }
    for (Index i = 0; i < lanes; ++i) {
        double* out = g + (bi * lanes + i) * n + bj * lanes;
        for (Index j = 0; j < lanes; ++j) out[j] += sum[i][j];
    }
}

COUPLET_INLINE void gram_body(const double* a, Index rows, Index n, double* g) {
    std::fill_n(g, n * n, 0.0);
    for (Index first = 0; first < rows; first += chunk) {
        const Index count = std::min(chunk, rows - first);
        for (Index bi = 0; bi < n / lanes; ++bi) {
            for (Index bj = bi; bj < n / lanes; ++bj) block_gram(a + first * n, count, n, bi, bj, g);
        }
    }
}

COUPLET_INLINE void vector_body(const double* a, Index rows, Index n, const double* v, double* y) {
    Lanes weights[widest / lanes];
    for (Index b = 0; b < n / lanes; ++b) load(weights[b], v + b * lanes);
    for (Index r = 0; r < rows; ++r) {
        Lanes sum = {};
        for (Index b = 0; b < n / lanes; ++b) {
            Lanes part;
            load(part, a + r * n + b * lanes);
            sum += part * weights[b];
        }
        y[r] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
}

void gram_baseline(const double* a, Index rows, Index n, double* g) { gram_body(a, rows, n, g); }
void vector_baseline(const double* a, Index rows, Index n, const double* v, double* y) {
    vector_body(a, rows, n, v, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void gram_avx2(const double* a, Index rows, Index n, double* g) {
    gram_body(a, rows, n, g);
}
__attribute__((target("avx2,fma"))) void vector_avx2(const double* a, Index rows, Index n, const double* v, double* y) {
    vector_body(a, rows, n, v, y);
}
__attribute__((target("avx512f,avx512vl,fma"))) void gram_avx512(const double* a, Index rows, Index n, double* g) {
    gram_body(a, rows, n, g);
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

bool is_narrow(Index cols) noexcept { return cols <= widest && cols > 0 && cols % lanes == 0; }

void narrow_gram(MatrixView<const double> a, double* g) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.cols + 1));
#if defined(__x86_64__)
    if (simd_level() == SimdLevel::avx512) return gram_avx512(a.data, a.rows, a.cols, g);
    if (simd_level() == SimdLevel::avx2) return gram_avx2(a.data, a.rows, a.cols, g);
#endif
    gram_baseline(a.data, a.rows, a.cols, g);
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
