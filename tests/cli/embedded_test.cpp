#include "embedded.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"

namespace couplet {
namespace {

TEST(EmbeddedTest, ArgumentsAreReadAsAfterTheVerb) {
    Index count = 1;
    std::string file;
    bool acted = false;
    cli::EmbeddedCall call{.arguments = {"--count", "3", "a b.npy"}};
    cli::run_embedded(
        "verb", call,
        [&](cli::Command& app) {
            cli::add_count(app, {"--count", "N"}, count, "");
            app.add_option("FILE", file);
        },
        [&](const cli::Command& app, const cli::Session&) {
            acted = true;
            EXPECT_EQ(app.count("--count"), 1U);
        });
    EXPECT_TRUE(acted);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(file, "a b.npy");
}

TEST(EmbeddedTest, RefusesWhatTheCommandLineRefusesBeforeAnythingIsDone) {
    for (const std::string wrong : {"--cuont", "--count=three", "stray"}) {
        Index count = 1;
        bool acted = false;
        cli::EmbeddedCall call{.arguments = {wrong}};
        EXPECT_THROW(cli::run_embedded(
                         "verb", call,
                         [&](cli::Command& app) {
                             cli::add_count(app, {"--count", "N"}, count, "");
                         },
                         [&](const cli::Command&, const cli::Session&) { acted = true; }),
                     InputError)
            << wrong;
        EXPECT_FALSE(acted) << wrong;
    }
}

/// What a program that embeds a verb hears of its options; it has others, or none.
class EmbeddedWords : public ::testing::Test {
  protected:
    template <class Act>
    static ErrorParts said(std::vector<std::string> arguments, const Act& act) {
        Index count = 1;
        cli::EmbeddedCall call{.arguments = std::move(arguments)};
        try {
            cli::run_embedded(
                "verb", call,
                [&](cli::Command& app) {
                    cli::add_count(app, {"--max-count", "N"}, count, "");
                },
                [&](const cli::Command&, const cli::Session& session) { act(session); });
        } catch (const Error& error) {
            return error.parts();
        }
        ADD_FAILURE() << "nothing was refused";
        return {};
    }
    static constexpr auto nothing = [](const cli::Session&) {};
};

TEST_F(EmbeddedWords, OptionsAreParameters) {
    const ErrorParts unknown = said({"--max-cuont=3"}, nothing);
    EXPECT_EQ(unknown.where, "'`max_cuont`'");
    EXPECT_EQ(unknown.remedy, "Did you mean `max_count`? See couplet verb --help.");
    EXPECT_EQ(said({"--max-count"}, nothing).where, "`max_count`");
    const ErrorParts own = said({}, [](const cli::Session&) {
        throw RunError({"--max-count 3", "(--max-count)--max-count", "no--max-count, --max-counts or ---max-count",
                        "Use `max_count`. Run: couplet provision --rotate a"});
    });
    EXPECT_EQ(own.where, "`max_count` 3");
    EXPECT_EQ(own.found, "(`max_count`)`max_count`");
    EXPECT_EQ(own.expected, "no--max-count, --max-counts or ---max-count");
    EXPECT_EQ(own.remedy, "Use `max_count`. Run: couplet provision --rotate a");
}

TEST_F(EmbeddedWords, WhoStopsIsStillThatOne) {
    cli::EmbeddedCall call;
    EXPECT_THROW(
        cli::run_embedded(
            "verb", call, [](cli::Command&) {}, [](const cli::Command&, const cli::Session&) { throw Stopped(); }),
        Stopped);
}

TEST_F(EmbeddedWords, ASessionSpellsForWhoHearsIt) {
    cli::EmbeddedCall call;
    cli::run_embedded(
        "verb", call, [](cli::Command&) {},
        [](const cli::Command&, const cli::Session& session) {
            EXPECT_EQ(session.spelling()("max_rank"), "max_rank");
        });
    EXPECT_EQ(cli::Session({}, "couplet verb").spelling()("max_rank"), "--max-rank");
}

}  // namespace
}  // namespace couplet
