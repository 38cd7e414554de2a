#include "completion_script.hpp"

#include <fmt/format.h>

#include <vector>

namespace couplet::cli {
namespace {

/// In single quotes for a POSIX shell or fish.
std::string shell_word(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

/// "'decompose'|'ranks'|'data ecg'": every path but the root's.
std::string path_patterns(std::span<const CompletionNode> nodes) {
    std::vector<std::string> patterns;
    for (const CompletionNode& node : nodes) {
        if (!node.path.empty()) patterns.push_back(shell_word(node.path));
    }
    return fmt::format("{}", fmt::join(patterns, "|"));
}

/// "'decompose -o'|'decompose --output'".
std::string option_patterns(const CompletionNode& node, const CompletionOption& option) {
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(shell_word(node.path + " " + name));
    return fmt::format("{}", fmt::join(patterns, "|"));
}

std::string option_names(const CompletionNode& node) {
    std::vector<std::string> names;
    for (const CompletionOption& option : node.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return fmt::format("{}", fmt::join(names, " "));
}

std::string argument_words(const CompletionNode& node) {
    std::vector<std::string> words = node.children;
    words.insert(words.end(), node.words.begin(), node.words.end());
    return fmt::format("{}", fmt::join(words, " "));
}

/// Lines `PATTERN) ACTION ;;` for the options that take a value. `words` and `files` are the shell's actions.
template <class Words>
std::string value_cases(std::span<const CompletionNode> nodes, Words&& words, std::string_view files) {
    std::string text;
    for (const CompletionNode& node : nodes) {
        for (const CompletionOption& option : node.options) {
            if (option.kind == ValueKind::none) continue;
            std::string action;
            if (option.kind == ValueKind::words) action = words(fmt::format("{}", fmt::join(option.words, " ")));
            if (option.kind == ValueKind::file) action = files;
            text += fmt::format("        {}) {}{}return ;;\n", option_patterns(node, option), action,
                                action.empty() ? "" : "; ");
        }
    }
    return text;
}

}  // namespace

std::string bash_completion(std::span<const CompletionNode> nodes) {
    const auto words = [](const std::string& list) {
        return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", list);
    };
    const std::string_view files = "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    std::string text = fmt::format(
        "# bash completion for couplet; load it with: source <(couplet completion bash)\n"
        "_couplet() {{\n"
        "    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb= word\n"
        "    COMPREPLY=()\n"
        "    for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
        "        case \"${{verb:+$verb }}$word\" in\n"
        "            {}) verb=\"${{verb:+$verb }}$word\" ;;\n"
        "        esac\n"
        "    done\n"
        "    case \"$verb $prev\" in\n",
        path_patterns(nodes));
    text += value_cases(nodes, words, files);
    text += "    esac\n    case \"$verb\" in\n";
    for (const CompletionNode& node : nodes) {
        const std::string arguments = argument_words(node);
        text += fmt::format("        {})\n            if [[ $cur == -* ]]; then {}\n", shell_word(node.path),
                            words(option_names(node)));
        if (!arguments.empty()) text += fmt::format("            else {}\n", words(arguments));
        if (arguments.empty() && node.takes_files) text += fmt::format("            else {}\n", files);
        text += "            fi ;;\n";
    }
    return text + "    esac\n}\ncomplete -F _couplet couplet\n";
}

std::string zsh_completion(std::span<const CompletionNode> nodes) {
    const auto words = [](const std::string& list) { return "compadd -- " + list; };
    std::string text = fmt::format(
        "#compdef couplet\n"
        "# zsh completion for couplet; save it as _couplet in a folder of $fpath, or load it after compinit with:\n"
        "# source <(couplet completion zsh)\n"
        "_couplet() {{\n"
        "    local verb= word prev=${{words[CURRENT-1]}} cur=${{words[CURRENT]}}\n"
        "    local -a choices\n"
        "    for word in \"${{(@)words[2,CURRENT-1]}}\"; do\n"
        "        case \"${{verb:+$verb }}$word\" in\n"
        "            {}) verb=\"${{verb:+$verb }}$word\" ;;\n"
        "        esac\n"
        "    done\n"
        "    case \"$verb $prev\" in\n",
        path_patterns(nodes));
    text += value_cases(nodes, words, "_files");
    text += "    esac\n    case \"$verb\" in\n";
    for (const CompletionNode& node : nodes) {
        text += fmt::format("        {})\n            if [[ $cur == -* ]]; then\n                choices=(\n",
                            shell_word(node.path));
        for (const CompletionOption& option : node.options) {
            for (const std::string& name : option.names) {
                text += fmt::format("                    {}\n", shell_word(name + ":" + option.description));
            }
        }
        text += "                )\n                _describe option choices\n";
        if (const std::string arguments = argument_words(node); !arguments.empty()) {
            text += fmt::format("            else {}\n", words(arguments));
        } else if (node.takes_files) {
            text += "            else _files\n";
        }
        text += "            fi ;;\n";
    }
    return text +
           "    esac\n}\n"
           "if [ \"$funcstack[1]\" = \"_couplet\" ]; then _couplet \"$@\"; else compdef _couplet couplet; fi\n";
}

std::string fish_completion(std::span<const CompletionNode> nodes) {
    std::string text = fmt::format(
        "# fish completion for couplet; load it with: couplet completion fish | source\n"
        "function __couplet_verb\n"
        "    set -l verb\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        switch \"$verb $word\"\n");
    for (const CompletionNode& node : nodes) {
        if (node.path.empty()) continue;
        const std::size_t space = node.path.rfind(' ');
        const std::string pattern = space == std::string::npos ? " " + node.path : node.path;
        text += fmt::format("            case {}\n                set verb {}\n", shell_word(pattern),
                            shell_word(node.path));
    }
    text +=
        "        end\n    end\n    echo \"$verb\"\nend\n"
        "complete -c couplet -f\n";
    for (const CompletionNode& node : nodes) {
        const std::string when = fmt::format("complete -c couplet -n 'test (__couplet_verb) = \"{}\"'", node.path);
        for (const CompletionNode& child : nodes) {
            const std::string prefix = node.path.empty() ? "" : node.path + " ";
            const bool is_child = child.path.size() > prefix.size() && child.path.starts_with(prefix) &&
                                  child.path.find(' ', prefix.size()) == std::string::npos;
            if (is_child) {
                text += fmt::format("{} -a {} -d {}\n", when, shell_word(child.path.substr(prefix.size())),
                                    shell_word(child.description));
            }
        }
        for (const std::string& word : node.words) text += fmt::format("{} -a {}\n", when, shell_word(word));
        if (node.takes_files) text += when + " -F\n";
        for (const CompletionOption& option : node.options) {
            text += when;
            for (const std::string& name : option.names) {
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            if (option.kind == ValueKind::text) text += " -x";
            if (option.kind == ValueKind::file) text += " -r -F";
            if (option.kind == ValueKind::words) text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
            text += " -d " + shell_word(option.description) + "\n";
        }
    }
    return text;
}

}  // namespace couplet::cli
