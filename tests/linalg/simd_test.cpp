#include "simd.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace couplet {
namespace {

struct Kernels {
    const char* (*name)();
};

#define COUPLET_KERNELS(name, attribute)                  \
    attribute const char* name_##name() { return #name; } \
    constexpr Kernels kernels_##name{name_##name};
COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

TEST(Simd, TheKernelsOfTheMachinesLevelArePicked) {
    const std::string_view picked = COUPLET_BEST_OF(kernels).name();
    switch (simd_level()) {
        case SimdLevel::baseline:
            EXPECT_EQ(picked, "baseline");
            break;
        case SimdLevel::avx2:
            EXPECT_EQ(picked, "avx2");
            break;
        case SimdLevel::avx512:
            EXPECT_EQ(picked, "avx512");
            break;
    }
}

#if defined(__x86_64__)
TEST(Simd, ALevelIsUsedWhereTheMachineHasAllOfItsInstructions) {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    EXPECT_EQ(simd_level() == SimdLevel::avx512, avx512);
    EXPECT_EQ(simd_level() == SimdLevel::avx2, avx2 && !avx512);
}
#endif

}  // namespace
}  // namespace couplet
