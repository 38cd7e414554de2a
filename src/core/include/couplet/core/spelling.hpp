#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "couplet/core/error.hpp"

namespace couplet {

/// How an interface writes the name of a parameter that the library calls `max_rank`.
///
/// The library does not know who calls it, so its texts (the parts of an error, a reason why somebody is refused, a
/// line of a log) have the name of a parameter in backticks and in snake_case, and a value after it: "`aggregate`
/// stack". Whoever shows a text to people puts the names as these write them: --max-rank at a command line, max_rank in
/// Python. A text that another party will show travels as it is: that party knows its own people. Whole commands, such
/// as "couplet provision --rotate a", are the same for everybody and stand in a text as they are.
using Spelling = std::function<std::string(std::string_view name)>;

/// `text` with the name of every parameter as `spelling` writes it, without its backticks. Without a spelling, and
/// where what stands in backticks is no such name, nothing changes.
std::string spelled(std::string_view text, const Spelling& spelling);
/// The same for all four parts.
ErrorParts spelled(const ErrorParts& parts, const Spelling& spelling);

}  // namespace couplet
