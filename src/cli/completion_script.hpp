#pragma once

#include <span>
#include <string>

#include "completion_tree.hpp"

namespace couplet::cli {

/// Scripts that complete verbs, options, words and file names. All find the verb the same way: the longest path of
/// the tree that the words so far spell, options left out.
std::string bash_completion(std::span<const CompletionNode> nodes);
std::string zsh_completion(std::span<const CompletionNode> nodes);
std::string fish_completion(std::span<const CompletionNode> nodes);

}  // namespace couplet::cli
