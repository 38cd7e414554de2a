#pragma once

#include <string>

namespace couplet::cli {

class Command;

/// What --help prints: the verbs by group for the root; for a verb a screen with examples and the options that most
/// people use. Made from the parsed tree and the table of verbs, so that it shows what exists.
std::string help_text(const Command& app);
/// What --help-all prints: every option by topic, in full, and what the output means.
std::string full_help_text(const Command& app);

}  // namespace couplet::cli
