#include "completion_script.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// A tree with a verb below a verb, which the scripts must follow.
std::vector<cli::CompletionNode> nested() {
    cli::CompletionNode root{.path = "", .description = "", .children = {"data"}, .options = {}, .words = {}};
    root.options.push_back({{"--json"}, cli::ValueKind::none, {}, "it's JSON"});
    cli::CompletionNode data{
        .path = "data", .description = "data", .children = {"ecg", "ehr"}, .options = {}, .words = {}};
    cli::CompletionNode ecg{
        .path = "data ecg", .description = "ecg", .children = {}, .options = {}, .takes_files = true, .words = {}};
    ecg.options.push_back({{"--leads"}, cli::ValueKind::words, {"two", "twelve"}, "leads"});
    cli::CompletionNode ehr{.path = "data ehr", .description = "ehr", .children = {}, .options = {}, .words = {}};
    return {root, data, ecg, ehr};
}

class CompletionScriptTest : public CliTest {
  protected:
    bool has(const std::string& program) const { return shell("command -v " + program).find('/') != std::string::npos; }
};

TEST_F(CompletionScriptTest, BashFollowsNestedVerbs) {
    put("c.bash", cli::bash_completion(nested()));
    const auto complete = [&](const std::string& words) {
        return shell("bash -c 'source c.bash; COMP_WORDS=(couplet " + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _couplet; echo \"${COMPREPLY[*]}\"'");
    };
    EXPECT_EQ(complete("d"), "data\n");
    EXPECT_EQ(complete("data \"\""), "ecg ehr\n");
    EXPECT_EQ(complete("data ecg --leads t"), "two twelve\n");
    EXPECT_EQ(complete("data ecg --l"), "--leads\n");
    EXPECT_EQ(complete("data ecg c."), "c.bash\n");
    EXPECT_EQ(complete("data ehr \"\""), "\n");
}

TEST_F(CompletionScriptTest, ZshFollowsNestedVerbs) {
    if (!has("zsh")) GTEST_SKIP() << "no zsh here";
    put("c.zsh", cli::zsh_completion(nested()));
    const auto complete = [&](const std::string& words, int current) {
        return shell(
            "zsh -fc 'compdef() {}; compadd() { shift; print -r -- \"$@\"; }; _files() { print files; }; "
            "_describe() { print -rl -- \"${(@P)2}\"; }; source ./c.zsh; words=(couplet " +
            words + "); CURRENT=" + std::to_string(current) + "; _couplet'");
    };
    EXPECT_EQ(complete("d", 2), "data\n");
    EXPECT_EQ(complete("data \"\"", 3), "ecg ehr\n");
    EXPECT_EQ(complete("data ecg --leads t", 5), "two twelve\n");
    EXPECT_EQ(complete("data ecg c", 4), "files\n");
    EXPECT_EQ(complete("-", 2), "--json:it's JSON\n");
}

/// Also where no zsh is installed.
TEST_F(CompletionScriptTest, ZshDescribesEveryOption) {
    const std::string script = cli::zsh_completion(nested());
    EXPECT_NE(script.find("'--leads:leads'\n"), std::string::npos) << script;
    EXPECT_NE(script.find("--json:it"), std::string::npos) << script;
}

TEST_F(CompletionScriptTest, FishFollowsNestedVerbs) {
    if (!has("fish")) GTEST_SKIP() << "no fish here";
    put("c.fish", cli::fish_completion(nested()));
    const auto complete = [&](const std::string& line) {
        return shell("HOME=$PWD fish --no-config -c 'source c.fish; complete -C \"" + line +
                     "\" | string split -f 1 \\t'");
    };
    EXPECT_EQ(complete("couplet d"), "data\n");
    EXPECT_EQ(complete("couplet data "), "ecg\nehr\n");
    EXPECT_EQ(complete("couplet data ecg --leads t"), "twelve\ntwo\n");
    EXPECT_EQ(complete("couplet data ecg --l"), "--leads\n");
}

}  // namespace
}  // namespace couplet::testing
