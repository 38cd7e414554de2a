#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace couplet::cli {

class Command;

class Session;

/// What a verb does once its options are parsed.
using Action = std::function<void(Session&)>;

/// One verb of the command line: a file that defines one of these as `const Verb <name>_verb`, and a line in verbs.cpp.
struct Verb {
    std::string_view name;
    std::string_view group;        ///< heading in `couplet --help`
    std::string_view summary;      ///< a few words, no full stop
    std::string_view description;  ///< paragraphs, separated by blank lines
    std::string_view output;       ///< what the output means, paragraphs
    std::string_view examples;     ///< one command a line
    std::string_view common =
        {};  ///< long options that --help shows, with spaces between; empty: all of the verb's own
    /// Adds the verb's options to `app` and returns what to do with them.
    Action (*setup)(Command& app);
};

inline constexpr std::string_view tensors_group = "Tensors";
inline constexpr std::string_view arithmetic_group = "Tensor-train arithmetic";
inline constexpr std::string_view federation_group = "Federation";
inline constexpr std::string_view network_group = "Federation over a network";
inline constexpr std::string_view shell_group = "Shell";

/// All verbs in the order of the help; those of one group are neighbours.
std::span<const Verb* const> verbs();

}  // namespace couplet::cli
