#include "command.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet::cli {
namespace {

class CommandTest : public ::testing::Test {
  protected:
    CommandTest() {
        verb_.add_option("FILES...", files_, "What to read").type("FILE");
        verb_.add_option("-o,--output", output_, "Where to").type("FILE.npz").standard("here").group("Files");
        verb_.add_option("--names", names_, "Some names").delimiter(',');
        verb_.add_option("--label", labels_, "Once per site").each();
        verb_.add_option(
            "--count", [this](const std::string& text) { taken_.push_back(text); }, "How many");
        verb_.add_flag("--quick", quick_, "Faster").last();
        verb_.add_flag(
            "--slow", [this] { quick_ = false; }, "Slower");
        verb_.add_help("Says this");
        verb_.add_help_all("Says all");
    }

    ParseFailure::Kind failure(std::vector<std::string> words) {
        try {
            root_.parse(std::move(words));
        } catch (const ParseFailure& failure) {
            return failure.kind();
        }
        throw RunError({"the words", "a command line", "none", ""});
    }

    Command root_{"couplet", "a tree of verbs"};
    Command& verb_ = root_.add_subcommand("verb", "a verb");
    std::vector<std::string> files_, names_, labels_, taken_;
    std::string output_;
    bool quick_ = false;
};

TEST_F(CommandTest, TakesWhatItsOptionsSay) {
    root_.parse({"verb", "a.npy", "-o", "b.npz", "--names", "x,y", "--label", "one", "c d.npy", "--label", "two",
                 "--count=3", "--quick", "--quick"});
    EXPECT_EQ(root_.given(), &verb_);
    EXPECT_EQ(verb_.given(), nullptr);
    EXPECT_EQ(files_, (std::vector<std::string>{"a.npy", "c d.npy"}));
    EXPECT_EQ(output_, "b.npz");
    EXPECT_EQ(names_, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(labels_, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(taken_, std::vector<std::string>{"3"});
    EXPECT_TRUE(quick_);
    EXPECT_EQ(verb_.count("--output"), 1U);
    EXPECT_EQ(verb_.count("--slow"), 0U);
    root_.parse({"verb", "--quick", "--slow"});
    EXPECT_FALSE(quick_);
}

TEST_F(CommandTest, KeepsWordsThatNothingTakes) {
    root_.parse({"vreb", "x"});
    EXPECT_EQ(root_.given(), nullptr);
    EXPECT_EQ(root_.remaining(), (std::vector<std::string>{"vreb", "x"}));
    root_.parse({"verb", "--quikc", "verb"});
    EXPECT_EQ(verb_.remaining(), std::vector<std::string>{"--quikc"});
    EXPECT_EQ(files_, std::vector<std::string>{"verb"}) << "the name of the verb is a file after it";
}

TEST_F(CommandTest, WordsAfterTheEndOfOptionsAreArguments) {
    root_.parse({"verb", "a.npy", "--names", "x", "y", "--", "-b.npy", "--quick", "verb", "--", "\x01"});
    EXPECT_EQ(files_, (std::vector<std::string>{"a.npy", "-b.npy", "--quick", "verb", "--", "\x01"}));
    EXPECT_EQ(names_, (std::vector<std::string>{"x", "y"}));
    EXPECT_FALSE(quick_);
    root_.parse({"verb", "--output", "o.npz", "--", "-c.npy"});
    EXPECT_EQ(files_, std::vector<std::string>{"-c.npy"});
    EXPECT_EQ(output_, "o.npz");
    EXPECT_TRUE(verb_.remaining().empty() && root_.remaining().empty());
    Command& bare = root_.add_subcommand("bare");
    root_.parse({"bare", "x", "--", "-y", "z"});
    EXPECT_EQ(bare.remaining(), (std::vector<std::string>{"x", "--", "-y", "z"}));
    for (const CommandOption& option : bare.options()) ADD_FAILURE() << option.name();
}

TEST_F(CommandTest, AVerbAfterTheEndOfOptionsIsNoVerb) {
    Command& other = root_.add_subcommand("other");
    root_.parse({"--", "other", "verb", "a.npy"});
    EXPECT_EQ(root_.given(), nullptr);
    root_.parse({"other", "verb"});
    EXPECT_EQ(root_.given(), &other) << "the first one, whichever was declared first";
}

TEST_F(CommandTest, SaysWhatIsWrong) {
    EXPECT_EQ(failure({"verb", "--help"}), ParseFailure::Kind::help);
    EXPECT_EQ(failure({"verb", "--help-all"}), ParseFailure::Kind::help_all);
    EXPECT_EQ(failure({"verb", "--output"}), ParseFailure::Kind::no_value);
    EXPECT_EQ(failure({"verb", "--count", "1", "--output", "a", "--output", "b"}), ParseFailure::Kind::no_value);
    EXPECT_EQ(failure({"verb", "--quick=maybe"}), ParseFailure::Kind::other);
    verb_.option("--names")->required();
    EXPECT_EQ(failure({"verb"}), ParseFailure::Kind::missing);
}

TEST_F(CommandTest, WhatATakerThrowsComesThrough) {
    verb_.remove_option("--count");
    verb_.add_option(
        "--count",
        [](const std::string& text) {
            throw InputError({"--count", text, "a number", ""});
        },
        "");
    EXPECT_THROW(root_.parse({"verb", "--count", "x"}), InputError);
}

TEST_F(CommandTest, TellsWhatItHas) {
    EXPECT_EQ(root_.name(), "couplet");
    EXPECT_EQ(root_.parent(), nullptr);
    EXPECT_EQ(verb_.parent(), &root_);
    EXPECT_EQ(verb_.description(), "a verb");
    EXPECT_EQ(root_.subcommands(), std::vector<const Command*>{&verb_});
    const auto output = verb_.option("--output");
    ASSERT_TRUE(output);
    EXPECT_EQ(output->names(), (std::vector<std::string>{"-o", "--output"}));
    EXPECT_EQ(output->long_names(), std::vector<std::string>{"output"});
    EXPECT_EQ(output->name(), "--output");
    EXPECT_EQ(output->type(), "FILE.npz");
    EXPECT_EQ(output->description(), "Where to");
    EXPECT_EQ(output->standard(), "here");
    EXPECT_EQ(output->group(), "Files");
    EXPECT_TRUE(output->takes_value());
    EXPECT_FALSE(output->is_argument() || output->takes_many() || output->is_required());
    EXPECT_TRUE(verb_.option("FILES...")->is_argument() && verb_.option("FILES...")->takes_many());
    EXPECT_FALSE(verb_.option("--quick")->takes_value());
    EXPECT_TRUE(verb_.option("--quick")->takes_many() && verb_.option("--label")->takes_many());
    EXPECT_FALSE(verb_.option("--nothing"));
}

}  // namespace
}  // namespace couplet::cli
