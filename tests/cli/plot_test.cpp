#include "plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layout.hpp"

namespace couplet::testing {
namespace {

TEST(Plot, OneDecadePerRowInAscii) {
    EXPECT_EQ(cli::log_plot(std::vector{1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5}, false),
              "   1 |####\n"
              "     |########\n"
              "     |############\n"
              "     |################\n"
              "1e-5 |####################....\n"
              "      1                      6\n");
}

TEST(Plot, NothingToShow) {
    EXPECT_EQ(cli::log_plot({}, true), "");
    EXPECT_EQ(cli::log_plot(std::vector{0.0, 0.0}, true), "");
}

TEST(Plot, SpikesSurviveCondensingAndLinesFit) {
    std::vector<double> values(10007, 1e-8);
    values[5000] = 1;
    for (const bool utf8 : {false, true}) {
        const std::string plot = cli::log_plot(values, utf8);
        const std::string top = plot.substr(0, plot.find('\n'));
        EXPECT_NE(top.find(utf8 ? "█" : "#"), std::string::npos) << plot;
        EXPECT_NE(plot.find("1e-8 |"), std::string::npos) << plot;
        EXPECT_NE(plot.find("10007\n"), std::string::npos) << plot;
        EXPECT_EQ(std::count(plot.begin(), plot.end(), '\n'), 6);
        for (std::size_t start = 0, end = 0; (end = plot.find('\n', start)) != std::string::npos; start = end + 1) {
            EXPECT_LE(cli::display_width(plot.substr(start, end - start)), cli::line_width);
        }
    }
}

TEST(Plot, ZerosAndRoundingAreEmptyPlaces) {
    const std::string plot = cli::log_plot(std::vector{2.0, 0.0, 2e-20, 0.2}, false);
    EXPECT_NE(plot.find("1e-1 |####        ....\n"), std::string::npos) << plot;
}

}  // namespace
}  // namespace couplet::testing
