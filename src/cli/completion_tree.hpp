#pragma once

#include <string>
#include <vector>

namespace couplet::cli {

class Command;

/// What follows an option or takes the place of an argument.
enum class ValueKind { none, text, file, words };

struct CompletionOption {
    std::vector<std::string> names;  ///< with their dashes
    ValueKind kind = ValueKind::none;
    std::vector<std::string> words;
    std::string description;
};

/// One node of the tree of verbs, for the completion scripts.
struct CompletionNode {
    std::string path;  ///< "" for the root, "decompose", later "data ecg"
    std::string description;
    std::vector<std::string> children;
    std::vector<CompletionOption> options;
    bool takes_files = false;
    std::vector<std::string> words;  ///< of an argument that is one of a few
};

/// The root first, every parent before its children.
std::vector<CompletionNode> completion_tree(const Command& root);

}  // namespace couplet::cli
