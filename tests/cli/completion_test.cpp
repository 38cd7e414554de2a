#include "cli_test_support.hpp"
#include "verb.hpp"

namespace couplet::testing {
namespace {

class CompletionTest : public CliTest {
  protected:
    std::string complete(const std::string& words) {
        return shell("bash -c 'source <(" + couplet_binary() + " completion bash); COMP_WORDS=(couplet " + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _couplet; echo \"${COMPREPLY[*]}\"'");
    }
};

TEST_F(CompletionTest, BashCompletesWhatExists) {
    save("Model.npy", smooth<double>({2, 2}));
    std::string verbs;
    for (const cli::Verb* verb : cli::verbs()) {
        if (!verbs.empty()) verbs += ' ';
        verbs += verb->name;
    }
    EXPECT_EQ(complete("\"\""), verbs + "\n");
    EXPECT_EQ(complete("dec"), "decompose\n");
    EXPECT_EQ(complete("--json dec"), "decompose\n");
    EXPECT_EQ(complete("decompose --m"), "--max-rank --method\n");
    EXPECT_EQ(complete("decompose --method \"\""), "auto gram qr random\n");
    EXPECT_EQ(complete("decompose Mo"), "Model.npy\n");
    EXPECT_EQ(complete("decompose Model.npy -o Mo"), "Model.npy\n");
    EXPECT_EQ(complete("completion \"\""), "bash zsh fish\n");
    EXPECT_EQ(complete("decompose --eps \"\""), "\n");
}

TEST_F(CompletionTest, EveryShellGetsAScript) {
    for (const char* shell_name : {"bash", "zsh", "fish"}) {
        const Outcome run = couplet({"completion", shell_name});
        EXPECT_EQ(run.status, 0);
        EXPECT_NE(run.out.find("decompose"), std::string::npos);
        EXPECT_EQ(couplet({"completion", shell_name, "--json"}).json()["script"], run.out);
    }
    const Outcome run = couplet({"completion", "tcsh"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err, "couplet completion: SHELL: 'tcsh'; expected one of bash, zsh, fish\n");
}

}  // namespace
}  // namespace couplet::testing
