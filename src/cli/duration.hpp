#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace couplet::cli {

class Command;

using Duration = std::optional<std::chrono::milliseconds>;  ///< nothing: for ever

/// "60s", "500ms", "1.5m", "2h", or "none". Throws InputError that names `option`.
Duration parse_duration(const std::string& option, const std::string& text);

/// An option that takes such a time; `value` holds the default.
void add_duration(Command& app, const std::string& name, const std::string& shown_default, Duration& value,
                  const std::string& description);
/// --deadline TIME; `value` holds the default.
void add_deadline(Command& app, const std::string& shown_default, Duration& value, const std::string& description);

}  // namespace couplet::cli
