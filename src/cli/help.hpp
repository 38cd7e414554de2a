#pragma once

#include <string>

namespace CLI {
class App;
}

namespace couplet::cli {

/// What --help prints: the verbs by group for the root, everything about one verb for a verb. Made from the parsed
/// tree and the table of verbs, so that it shows what exists.
std::string help_text(const CLI::App& app);

}  // namespace couplet::cli
