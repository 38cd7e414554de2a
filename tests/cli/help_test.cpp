#include "help.hpp"

#include <algorithm>
#include <sstream>

#include "cli_test_support.hpp"
#include "verb.hpp"

namespace couplet::testing {
namespace {

class HelpTest : public CliTest {
  protected:
    std::string help(std::vector<std::string> arguments, const std::string& level = "--help") {
        arguments.push_back(level);
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0);
        EXPECT_EQ(run.err, "");
        for (std::size_t start = 0, end = 0; (end = run.out.find('\n', start)) != std::string::npos; start = end + 1) {
            // A command is shown as it is typed, in one line.
            const std::string line = run.out.substr(start, end - start);
            EXPECT_LE(line.size(), line.starts_with("  couplet ") ? 100U : 80U) << line;
        }
        return run.out;
    }
};

TEST_F(HelpTest, RootShowsEveryVerbOnceInItsGroup) {
    const std::string text = help({});
    for (const char* part :
         {"\nTensors:\n", "\nTensor-train arithmetic:\n", "\nFederation:\n", "\nShell:\n", "\nExamples:\n"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part;
    }
    for (const cli::Verb* verb : cli::verbs()) {
        const std::string line = "\n  " + std::string(verb->name) + " ";
        const std::size_t at = text.find(line);
        ASSERT_NE(at, std::string::npos) << verb->name;
        EXPECT_NE(text.find(verb->summary, at), std::string::npos) << verb->name;
    }
    EXPECT_EQ(help({}), couplet({"-h"}).out);
}

TEST_F(HelpTest, EveryVerbExplainsItself) {
    for (const cli::Verb* verb : cli::verbs()) {
        const std::string text = help({std::string(verb->name)}, "--help-all");
        for (const char* part : {"Usage: couplet ", "\nOutput:\n", "\nExamples:\n", "--json", "--quiet", "--force"}) {
            EXPECT_NE(text.find(part), std::string::npos) << verb->name << ": " << part;
        }
    }
}

/// --help fits a screen, with examples before options; --help-all has the rest.
TEST_F(HelpTest, TheFirstLevelFitsAScreen) {
    for (const cli::Verb* verb : cli::verbs()) {
        const std::string name(verb->name);
        const std::string text = help({name});
        EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 50) << name;
        EXPECT_LT(text.find("\nExamples:\n"), std::min(text.find("\nOptions:\n"), text.find("\nCommon options:\n")));
        EXPECT_NE(text.find("couplet " + name + " --help-all explains"), std::string::npos) << text;
        const std::string everything = help({name}, "--help-all");
        std::istringstream common{std::string(verb->common)};
        for (std::string option; common >> option;) {
            EXPECT_NE(text.find("--" + option), std::string::npos) << name << " has no --" << option;
            EXPECT_NE(everything.find("--" + option), std::string::npos) << name << " --" << option;
        }
    }
}

TEST_F(HelpTest, DecomposeNamesItsOptionsAndDefaults) {
    const std::string text = help({"decompose"}, "--help-all");
    for (const char* part :
         {"Usage: couplet decompose X.npy [options]", "--eps E", "0 <= E < 1", "--max-rank R", "--method WORD",
          "[auto,", "random] (default: auto)", "--repeat N", "(default: 1)", "-o, --output FILE.npz", "rel_error"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
}

TEST_F(HelpTest, SimulateNamesItsOptionsAndDefaults) {
    const std::string text = help({"simulate"}, "--help-all");
    for (const char* part : {"--network WORD", "(default: star)", "--rank R", "--eps E", "--graph GRAPH", "random:S",
                             "--heldout FRACTION", "--dry-run", "--save-state FILE.npz", "rel_error_bound", "fedsvd",
                             "\nOptions of the CP methods:\n", "--fibers N", "--tuned"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
}

/// Commands shown in the help are accepted by the parser: they work, or fail for want of the file, not of the option.
TEST_F(HelpTest, ExamplesUseOnlyWhatExists) {
    for (const cli::Verb* verb : cli::verbs()) {
        if (verb->name == "completion") continue;
        std::string examples(verb->examples);
        for (std::size_t start = 0; start < examples.size();) {
            const std::size_t end = std::min(examples.find('\n', start), examples.size());
            const std::string line = examples.substr(start, end - start);
            start = end + 1;
            ASSERT_EQ(line.find("couplet "), 0U) << line;
            // An experiment takes minutes; its list takes the same arguments.
            const std::string list = verb->name == "reproduce" ? " --list" : "";
            const std::string output = shell(couplet_binary() + line.substr(7) + list + " --quiet && echo accepted");
            const bool accepted = output.ends_with("accepted\n");
            EXPECT_TRUE(accepted || output.find("no such file") != std::string::npos) << line << "\n" << output;
        }
    }
}

}  // namespace
}  // namespace couplet::testing
