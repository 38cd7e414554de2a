#include "completion_tree.hpp"

#include <sstream>

#include "command.hpp"

namespace couplet::cli {
namespace {

std::vector<std::string> split_words(const std::string& type) {
    std::vector<std::string> words;
    if (type.find('|') == std::string::npos) return words;
    std::istringstream stream(type);
    for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
    return words;
}

ValueKind kind_of(const CommandOption& option) {
    const std::string type = option.type();
    if (!option.takes_value()) return ValueKind::none;
    if (type.find('|') != std::string::npos) return ValueKind::words;
    return type.starts_with("FILE") ? ValueKind::file : ValueKind::text;
}

/// Shells show one line.
std::string first_clause(const std::string& text) { return text.substr(0, text.find_first_of(".:;(")); }

void visit(const Command& app, const std::string& path, std::vector<CompletionNode>& nodes) {
    CompletionNode node{.path = path, .description = app.description(), .children = {}, .options = {}, .words = {}};
    for (const CommandOption& option : app.options()) {
        const ValueKind kind = kind_of(option);
        if (option.is_argument()) {
            node.takes_files = node.takes_files || kind == ValueKind::file;
            if (kind == ValueKind::words) node.words = split_words(option.type());
            continue;
        }
        node.options.push_back({.names = option.names(),
                                .kind = kind,
                                .words = split_words(option.type()),
                                .description = first_clause(option.description())});
    }
    const auto children = app.subcommands();
    for (const Command* child : children) node.children.push_back(child->name());
    nodes.push_back(std::move(node));
    for (const Command* child : children)
        visit(*child, path.empty() ? child->name() : path + " " + child->name(), nodes);
}

}  // namespace

std::vector<CompletionNode> completion_tree(const Command& root) {
    std::vector<CompletionNode> nodes;
    visit(root, "", nodes);
    return nodes;
}

}  // namespace couplet::cli
