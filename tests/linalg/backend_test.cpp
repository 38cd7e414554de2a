#include "couplet/linalg/backend.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(Backend, NamesItsKernels) { EXPECT_FALSE(std::string(blas_core_name()).empty()); }

TEST(Backend, PreparingTwiceIsHarmless) {
    EXPECT_NO_THROW(prepare_backend());
    EXPECT_NO_THROW(prepare_backend());
}

}  // namespace
}  // namespace couplet
