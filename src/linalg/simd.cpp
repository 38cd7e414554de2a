#include "simd.hpp"

namespace couplet {

SimdLevel simd_level() noexcept {
#if defined(__x86_64__)
    static const bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return avx512 ? SimdLevel::avx512 : avx2 ? SimdLevel::avx2 : SimdLevel::baseline;
#else
    return SimdLevel::baseline;
#endif
}

}  // namespace couplet
