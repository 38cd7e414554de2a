#include "format.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace couplet::testing {
namespace {

TEST(Format, Shapes) {
    EXPECT_EQ(cli::shape_text({200, 30, 1}), "200 x 30 x 1");
    EXPECT_EQ(cli::shape_text({7}), "7");
    EXPECT_EQ(cli::ranks_text(std::vector<Index>{1, 5, 3, 1}), "1 5 3 1");
}

TEST(Format, Counts) {
    EXPECT_EQ(cli::count_text(0), "0");
    EXPECT_EQ(cli::count_text(999), "999");
    EXPECT_EQ(cli::count_text(1000), "1,000");
    EXPECT_EQ(cli::count_text(18000000), "18,000,000");
    EXPECT_EQ(cli::count_text(-1234), "-1,234");
    EXPECT_EQ(cli::count_text(-123), "-123");
}

TEST(Format, Bytes) {
    EXPECT_EQ(cli::bytes_text(0), "0 bytes");
    EXPECT_EQ(cli::bytes_text(1023), "1023 bytes");
    EXPECT_EQ(cli::bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(cli::bytes_text(Index{1} << 30), "1.0 GiB");
    EXPECT_EQ(cli::bytes_text(std::numeric_limits<Index>::max()), "8.0 EiB");
}

TEST(Format, SecondsAndNumbers) {
    EXPECT_EQ(cli::seconds_text(0), "0 s");
    EXPECT_EQ(cli::seconds_text(4.56e-5), "45.6 us");
    EXPECT_EQ(cli::seconds_text(0.0123), "12.3 ms");
    EXPECT_EQ(cli::seconds_text(12.34), "12.3 s");
    EXPECT_EQ(cli::seconds_text(4321), "4321 s");
    EXPECT_EQ(cli::number_text(0.0123456), "0.01235");
    EXPECT_EQ(std::stod(cli::exact_text(0.1 + 0.2)), 0.1 + 0.2);
}

}  // namespace
}  // namespace couplet::testing
