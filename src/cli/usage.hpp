#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"

namespace couplet::cli {

class Command;

/// The verb that was given, or `root` itself.
const Command* active_app(const Command& root);

/// "couplet decompose".
std::string command_name(const Command& app);

/// "couplet decompose X.npy [options]".
std::string usage_line(const Command& app);

enum class Request { work, help, help_all };

/// Parses what was written after the root's name. Throws InputError for words that are no command line, in the four
/// parts of every message: an unknown verb or option, with the nearest name there is, one argument too many, a value
/// that is missing. `first` may refuse words before that.
Request read_words(Command& root, std::vector<std::string> words, const std::function<void()>& first = {});

InputError missing_verb(const Command& root);

/// The option of a parameter that the library calls `max_rank`: --max-rank.
std::string option_of(std::string_view parameter);
/// A text of the library with options for its parameters.
std::string with_option_names(std::string_view text);
/// The same for an error; one whose `where` is an argument of a function (max_rank) names the option, too. What the
/// user wrote on the command line (`words`) stays as it is: a file may be called `rank`.
ErrorParts with_option_names(const ErrorParts& parts, const Command& app, const std::vector<std::string>& words = {});

/// The other way, for a program that embeds a verb and has options of its own, or none: what the command line says of
/// the verb's options in the words of the library, `max_rank` for --max-rank.
ErrorParts with_parameter_names(const ErrorParts& parts, const Command& app);
/// Does `action`, and throws its errors in those words.
template <class Action>
auto naming_parameters(const Command& app, const Action& action) {
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
