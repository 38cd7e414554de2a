#include "thin.hpp"

#include <algorithm>

#include "couplet/core/operations.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

static_assert(sizeof(Lanes) == thin_columns * sizeof(double));

/// `together` rows of C from as many of A.
template <Index together, bool subtract>
COUPLET_INLINE void rows_body(const Strided& a, Index depth, const double* b, double* c) {
    Lanes sum[together] = {};
    Lanes x;
    for (Index k = 0; k < depth; ++k) {
        const double* at = a.at + k * a.step;
        load(x, b + k * thin_columns);
        for (Index i = 0; i < together; ++i) sum[i] += at[i * a.next] * x;
    }
    for (Index i = 0; i < together; ++i) {
        if constexpr (subtract) {
            load(x, c + i * thin_columns);
            sum[i] = x - sum[i];
        }
        store(sum[i], c + i * thin_columns);
    }
}

template <Index together, bool subtract>
COUPLET_INLINE void product_body(Strided a, Index rows, Index depth, const double* b, double* c) {
    Index i = 0;
    for (; i + together <= rows; i += together) {
        rows_body<together, subtract>(a, depth, b, c + i * thin_columns);
        a.at += together * a.next;
    }
    for (; i < rows; ++i) {
        rows_body<1, subtract>(a, depth, b, c + i * thin_columns);
        a.at += a.next;
    }
}

/// Rows whose sums fit into the registers of each kind.
constexpr Index together_baseline = 2;
constexpr Index together_avx2 = 4;
constexpr Index together_avx512 = 8;

struct Kernels {
    void (*product)(const Strided&, Index, Index, const double*, double*);
    void (*subtract)(const Strided&, Index, Index, const double*, double*);
};

#define COUPLET_KERNELS(name, attribute)                                                                    \
    attribute void product_##name(const Strided& a, Index rows, Index depth, const double* b, double* c) {  \
        product_body<together_##name, false>(a, rows, depth, b, c);                                         \
    }                                                                                                       \
    attribute void subtract_##name(const Strided& a, Index rows, Index depth, const double* b, double* c) { \
        product_body<together_##name, true>(a, rows, depth, b, c);                                          \
    }                                                                                                       \
    constexpr Kernels kernels_##name{product_##name, subtract_##name};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

const Kernels& kernels() { return COUPLET_BEST_OF(kernels); }

double operations(Index rows, Index depth) {
    return 2.0 * thin_columns * static_cast<double>(rows) * static_cast<double>(depth);
}

}  // namespace

void thin_product(const Strided& a, Index rows, Index depth, const double* b, double* c) {
    count_operations(operations(rows, depth));
    kernels().product(a, rows, depth, b, c);
}

void subtract_thin(const Strided& a, Index rows, Index depth, const double* b, double* c) {
    count_operations(operations(rows, depth));
    kernels().subtract(a, rows, depth, b, c);
}

}  // namespace couplet
