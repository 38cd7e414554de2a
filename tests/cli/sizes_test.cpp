#include "sizes.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet::cli {
namespace {

TEST(SizesTest, OneForAllOrOneForEach) {
    EXPECT_EQ(parse_sizes("--top", ""), std::vector<Index>{});
    EXPECT_EQ(parse_sizes("--top", "40"), (std::vector<Index>{40}));
    EXPECT_EQ(parse_sizes("--top", "40x30x7"), (std::vector<Index>{40, 30, 7}));
    for (const char* bad : {"x", "40x", "0", "-1", "4x4x", "many"}) EXPECT_THROW(parse_sizes("--top", bad), InputError);
}

}  // namespace
}  // namespace couplet::cli
