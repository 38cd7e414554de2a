#pragma once

#include <string>

#include "couplet/core/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace couplet::cli {

/// The verb that was given, or `root` itself.
const CLI::App* active_app(const CLI::App& root);

/// "couplet decompose".
std::string command_name(const CLI::App& app);

/// "couplet decompose X.npy [options]".
std::string usage_line(const CLI::App& app);

/// Throws InputError for the first argument that nothing took: an unknown verb or option, with the nearest name there
/// is, or one argument too many.
void refuse_leftovers(const CLI::App& root);

/// The same for the first word that is no verb where one was expected, whatever help was asked for.
void refuse_unknown_verb(const CLI::App& root);

/// A parse error in the four parts of every message.
InputError explained(const CLI::ParseError& error, const CLI::App& root);

InputError missing_verb(const CLI::App& root);

/// Where the library names an argument (max_rank) the parts name the option (--max-rank).
ErrorParts with_option_names(const ErrorParts& parts, const CLI::App& app);

}  // namespace couplet::cli
