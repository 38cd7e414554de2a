#include "duration.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet::cli {
namespace {

using namespace std::chrono_literals;

TEST(Duration, HasAUnit) {
    EXPECT_EQ(parse_duration("--deadline", "500ms"), 500ms);
    EXPECT_EQ(parse_duration("--deadline", "60s"), 60s);
    EXPECT_EQ(parse_duration("--deadline", "1.5m"), 90s);
    EXPECT_EQ(parse_duration("--deadline", "2h"), 2h);
    EXPECT_FALSE(parse_duration("--deadline", "none"));
}

TEST(Duration, AnythingElseIsRefused) {
    for (const char* bad : {"", "60", "s", "-1s", "0s", "1d", "nans", "1e99h"}) {
        EXPECT_THROW(parse_duration("--deadline", bad), InputError) << bad;
    }
}

}  // namespace
}  // namespace couplet::cli
