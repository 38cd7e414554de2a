#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "completion_script.hpp"
#include "couplet/core/error.hpp"
#include "options.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

std::string script(const std::string& shell, const Command& root) {
    const std::vector<CompletionNode> nodes = completion_tree(root);
    if (shell == "bash") return bash_completion(nodes);
    return shell == "zsh" ? zsh_completion(nodes) : fish_completion(nodes);
}

Action set_up_completion(Command& app) {
    auto shell = std::make_shared<std::string>();
    add_choice(app, "SHELL", {"bash", "zsh", "fish"}, *shell, "The shell you use");
    const Command* root = app.parent();
    return [shell, root](Session& session) {
        const std::string text = script(*shell, *root);
        session.print({{"shell", *shell}, {"script", text}, {"version", version()}}, text);
    };
}

}  // namespace

extern const Verb completion_verb{
    .name = "completion",
    .group = shell_group,
    .summary = "script that completes verbs, options and files",
    .description =
        "Prints a script for your shell. Load it from the shell's start file so that it is there every time:\n\n"
        "bash: source <(couplet completion bash) in ~/.bashrc\n"
        "zsh: source <(couplet completion zsh) in ~/.zshrc, after compinit\n"
        "fish: couplet completion fish | source in ~/.config/fish/config.fish",
    .output = "The script. --json: shell, script, version.",
    .examples = "source <(couplet completion bash)",
    .setup = set_up_completion};

}  // namespace couplet::cli
