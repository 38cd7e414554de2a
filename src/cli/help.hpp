#pragma once

#include <string>

namespace couplet::cli {

class Command;

/// What --help prints: the verbs by group for the root, everything about one verb for a verb. Made from the parsed
/// tree and the table of verbs, so that it shows what exists.
std::string help_text(const Command& app);

}  // namespace couplet::cli
