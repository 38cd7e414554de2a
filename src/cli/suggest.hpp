#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace couplet::cli {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that `word` was probably meant to be: the only one that it starts ("-e" starts "--eps") or ends ("--rank"
/// ends "--max-rank"), or the nearest one, if a third of its letters or fewer differ.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> names);

}  // namespace couplet::cli
