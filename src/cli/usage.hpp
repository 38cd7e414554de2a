#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"

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

/// The option of a parameter that the library calls `max_rank`: --max-rank.
std::string option_of(std::string_view parameter);
/// A text of the library with options for its parameters.
std::string with_option_names(std::string_view text);
/// The same for an error; one whose `where` is an argument of a function (max_rank) names the option, too. What the
/// user wrote on the command line (`words`) stays as it is: a file may be called `rank`.
ErrorParts with_option_names(const ErrorParts& parts, const CLI::App& app, const std::vector<std::string>& words = {});

/// The other way, for a program that embeds a verb and has options of its own, or none: what the command line says of
/// the verb's options in the words of the library, `max_rank` for --max-rank.
ErrorParts with_parameter_names(const ErrorParts& parts, const CLI::App& app);
/// Does `action`, and throws its errors in those words.
template <class Action>
auto naming_parameters(const CLI::App& app, const Action& action) {
    try {
        return action();
    } catch (const Stopped&) {
        throw;
    } catch (const InputError& error) {
        throw InputError(with_parameter_names(error.parts(), app));
    } catch (const RunError& error) {
        throw RunError(with_parameter_names(error.parts(), app));
    }
}

}  // namespace couplet::cli
