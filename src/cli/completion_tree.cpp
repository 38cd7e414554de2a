#include "completion_tree.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

namespace couplet::cli {
namespace {

std::vector<std::string> split_words(const std::string& type) {
    std::vector<std::string> words;
    if (type.find('|') == std::string::npos) return words;
    std::istringstream stream(type);
    for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
    return words;
}

ValueKind kind_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    if (option.get_items_expected_max() == 0) return ValueKind::none;
    if (type.find('|') != std::string::npos) return ValueKind::words;
    return type.starts_with("FILE") ? ValueKind::file : ValueKind::text;
}

/// Shells show one line.
std::string first_clause(const std::string& text) { return text.substr(0, text.find_first_of(".:;(")); }

void visit(const CLI::App& app, const std::string& path, std::vector<CompletionNode>& nodes) {
    CompletionNode node{.path = path, .description = app.get_description(), .children = {}, .options = {}, .words = {}};
    for (const CLI::Option* option : app.get_options()) {
        const ValueKind kind = kind_of(*option);
        if (option->get_positional()) {
            node.takes_files = node.takes_files || kind == ValueKind::file;
            if (kind == ValueKind::words) node.words = split_words(option->get_type_name());
            continue;
        }
        CompletionOption entry{.names = {},
                               .kind = kind,
                               .words = split_words(option->get_type_name()),
                               .description = first_clause(option->get_description())};
        for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
        node.options.push_back(std::move(entry));
    }
    const auto children = app.get_subcommands({});
    for (const CLI::App* child : children) node.children.push_back(child->get_name());
    nodes.push_back(std::move(node));
    for (const CLI::App* child : children)
        visit(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), nodes);
}

}  // namespace

std::vector<CompletionNode> completion_tree(const CLI::App& root) {
    std::vector<CompletionNode> nodes;
    visit(root, "", nodes);
    return nodes;
}

}  // namespace couplet::cli
