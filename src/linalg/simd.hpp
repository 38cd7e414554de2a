#pragma once

#include <cstring>

/// Kernels that are compiled once for each kind of vector instructions and picked at run time. A file writes its
/// kernels as COUPLET_INLINE bodies, names them in a `struct Kernels` of function pointers, and makes a constant
/// kernels_NAME of it for every level with COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS), where COUPLET_KERNELS(name,
/// attribute) is a macro of its own that puts the attribute before each function; COUPLET_BEST_OF(kernels) is the one
/// for this machine.
namespace couplet {

enum class SimdLevel { baseline, avx2, avx512 };

/// The best that this machine has.
SimdLevel simd_level() noexcept;

}  // namespace couplet

/// A body must be compiled with the instructions of whoever calls it.
#define COUPLET_INLINE inline __attribute__((always_inline))

namespace couplet {

/// Eight numbers that are worked on at once, by as many instructions as the level needs.
typedef double Lanes __attribute__((vector_size(64)));

// References, not values: a vector returned by value needs the instructions it is made for.
COUPLET_INLINE void load(Lanes& to, const double* from) { std::memcpy(&to, from, sizeof to); }
COUPLET_INLINE void store(const Lanes& value, double* to) { std::memcpy(to, &value, sizeof value); }

COUPLET_INLINE double sum(const Lanes& x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

/// Of entries [first, end), in whole blocks of eight: the block of `first` counts from its beginning.
COUPLET_INLINE double dot_of_blocks(const double* x, const double* y, long first, long end) {
    constexpr long block = sizeof(Lanes) / sizeof(double);
    Lanes total = {};
    Lanes left;
    Lanes right;
    for (long j = first / block * block; j < end; j += block) {
        load(left, x + j);
        load(right, y + j);
        total += left * right;
    }
    return sum(total);
}

}  // namespace couplet

#if defined(__x86_64__)
#define COUPLET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#define COUPLET_FOR_EACH_SIMD_LEVEL(make) \
    make(baseline, ) make(avx2, __attribute__((target("avx2,fma")))) make(avx512, COUPLET_AVX512)
#define COUPLET_BEST_OF(name)                                     \
    (simd_level() == ::couplet::SimdLevel::avx512 ? name##_avx512 \
     : simd_level() == ::couplet::SimdLevel::avx2 ? name##_avx2   \
                                                  : name##_baseline)
#else
#define COUPLET_FOR_EACH_SIMD_LEVEL(make) make(baseline, )
#define COUPLET_BEST_OF(name) (name##_baseline)
#endif
