#include "embedded.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(EmbeddedTest, ArgumentsAreReadAsAfterTheVerb) {
    int count = 0;
    std::string file;
    bool acted = false;
    cli::EmbeddedCall call{.arguments = {"--count", "3", "a b.npy"}};
    cli::run_embedded(
        "verb", call,
        [&](CLI::App& app) {
            app.add_option("--count", count);
            app.add_option("FILE", file);
        },
        [&](const CLI::App& app, const cli::Session&) {
            acted = true;
            EXPECT_EQ(app.count("--count"), 1U);
        });
    EXPECT_TRUE(acted);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(file, "a b.npy");
}

TEST(EmbeddedTest, RefusesWhatTheCommandLineRefusesBeforeAnythingIsDone) {
    for (const std::string wrong : {"--cuont", "--count=three", "stray"}) {
        int count = 0;
        bool acted = false;
        cli::EmbeddedCall call{.arguments = {wrong}};
        EXPECT_THROW(cli::run_embedded(
                         "verb", call, [&](CLI::App& app) { app.add_option("--count", count); },
                         [&](const CLI::App&, const cli::Session&) { acted = true; }),
                     InputError)
            << wrong;
        EXPECT_FALSE(acted) << wrong;
    }
}

}  // namespace
}  // namespace couplet
