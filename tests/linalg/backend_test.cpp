#include "couplet/linalg/backend.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace couplet {
namespace {

TEST(Backend, NamesItsKernels) { EXPECT_FALSE(std::string(blas_core_name()).empty()); }

TEST(Backend, NamesItsLibrary) { EXPECT_TRUE(std::string(blas_library_name()).ends_with("libopenblas.so.0")); }

/// The environment that this program was started with.
std::string environment_at_start() {
    std::ifstream file("/proc/self/environ");
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Backend, LeavesTheEnvironmentAsItWas) {
    blas_core_name();
    for (const std::string name : {"OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE"}) {
        const bool given = environment_at_start().find(name + "=") != std::string::npos;
        EXPECT_EQ(std::getenv(name.c_str()) != nullptr, given) << name;
    }
}

TEST(Backend, PreparingTwiceIsHarmless) {
    EXPECT_NO_THROW(prepare_backend());
    EXPECT_NO_THROW(prepare_backend());
}

}  // namespace
}  // namespace couplet
