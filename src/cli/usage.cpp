#include "usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "command.hpp"
#include "couplet/core/spelling.hpp"
#include "couplet/io/text.hpp"
#include "suggest.hpp"

namespace couplet::cli {
namespace {

std::string help_hint(const Command& app) { return fmt::format("See {} --help.", command_name(app)); }

std::string with_suggestion(const std::string& word, const std::vector<std::string>& names, const Command& app) {
    const auto near = nearest(word, names);
    return near ? fmt::format("Did you mean {}? {}", *near, help_hint(app)) : help_hint(app);
}

std::vector<std::string> option_names(const Command& app) {
    std::vector<std::string> names;
    for (const CommandOption& option : app.options()) {
        for (const std::string& name : option.names()) names.push_back(name);
    }
    return names;
}

std::vector<std::string> subcommand_names(const Command& app) {
    std::vector<std::string> names;
    for (const Command* sub : app.subcommands()) names.push_back(sub->name());
    return names;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Whether this is what an argument may be, which is written without dashes.
bool is_word_of_argument(const std::string& word, const Command& app) {
    for (const CommandOption& option : app.options()) {
        if (!option.is_argument()) continue;
        const std::string words = "|" + option.type() + "|";
        if (words.find("|" + word + "|") != std::string::npos) return true;
    }
    return false;
}

[[noreturn]] void refuse_option(const std::string& word, const Command& app) {
    const std::string name = word.substr(0, word.find('='));
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    if (is_word_of_argument(bare, app)) {
        throw InputError({shown(name), "no option, but a word with dashes", bare,
                          fmt::format("Did you mean {} {}? {}", command_name(app), bare, help_hint(app))});
    }
    throw InputError({shown(name), "no such option", fmt::format("an option of {}", command_name(app)),
                      with_suggestion(name, option_names(app), app)});
}

/// "Did you mean --personal p.npz? ": an option that was not given and takes files of the word's kind.
std::string option_for(const std::string& word, const Command& app) {
    const std::string kind = std::filesystem::path(word).extension().string();
    for (const CommandOption& option : app.options()) {
        if (kind.empty() || option.is_argument() || option.count() > 0) continue;
        if (!option.type().ends_with(kind)) continue;
        return fmt::format("Did you mean {} {}? ", option.names().front(), word);
    }
    return "";
}

[[noreturn]] void refuse_word(const std::string& word, const Command& app) {
    const std::vector<std::string> names = subcommand_names(app);
    if (names.empty()) {
        throw InputError(
            {shown(word), "one argument too many", usage_line(app), option_for(word, app) + help_hint(app)});
    }
    throw InputError({shown(word), "no such verb", fmt::format("one of {}", fmt::join(names, ", ")),
                      with_suggestion(word, names, app)});
}

std::optional<CommandOption> first_missing(const Command& app) {
    for (const CommandOption& option : app.options()) {
        if (option.is_required() && option.count() == 0) return option;
    }
    return std::nullopt;
}

std::optional<CommandOption> first_repeated(const Command& app) {
    for (const CommandOption& option : app.options()) {
        if (!option.takes_many() && option.count() > 1) return option;
    }
    return std::nullopt;
}

/// The first argument that nothing took.
void refuse_leftovers(const Command& root) {
    for (const Command* app = &root;;) {
        std::vector<std::string> left = app->remaining();
        const bool ended = !left.empty() && left.front() == "--";  // the end of the options, which is nobody's argument
        if (ended) left.erase(left.begin());
        if (!left.empty() && !ended && is_option(left.front())) refuse_option(left.front(), *app);
        if (!left.empty()) refuse_word(left.front(), *app);
        app = app->given();
        if (app == nullptr) return;
    }
}

/// The first word that is no verb where one was expected, whatever help was asked for.
void refuse_unknown_verb(const Command& root) {
    const Command& app = *active_app(root);
    if (app.subcommands().empty()) return;
    for (const std::string& word : app.remaining()) {
        if (!is_option(word)) refuse_word(word, app);
    }
}

InputError explained(const ParseFailure& failure, const Command& root) {
    const Command& app = *active_app(root);
    if (const auto option = first_repeated(app)) {
        return InputError(
            {option->name(), fmt::format("given {} times", option->count()), "one value", "Leave the others out."});
    }
    if (failure.kind() == ParseFailure::Kind::missing) {
        if (const auto option = first_missing(app)) {
            return InputError({option->name(), "missing", usage_line(app), help_hint(app)});
        }
    }
    const std::string text = failure.what();
    if (failure.kind() == ParseFailure::Kind::no_value) {
        const std::string name = text.substr(0, text.find(':'));
        if (const auto option = app.option(name)) {
            return InputError({name, "nothing after it", fmt::format("a value {}", option->type()), help_hint(app)});
        }
    }
    return InputError({"arguments", text, usage_line(app), help_hint(app)});
}

std::string underscored(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// What stands in backticks in the words of the user.
std::set<std::string, std::less<>> quoted_in(const std::vector<std::string>& words) {
    std::set<std::string, std::less<>> names;
    for (const std::string& word : words) {
        spelled(word, [&names](std::string_view name) { return *names.emplace(name).first; });
    }
    return names;
}

bool is_in_option(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

/// Every --option of the text that `is_meant` as the library writes parameters.
template <class Meant>
std::string with_parameters(std::string_view text, const Meant& is_meant) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool begins = text.substr(at).starts_with("--") && (at == 0 || !is_in_option(text[at - 1]));
        const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_in_option);
        const std::string option(text.begin() + static_cast<std::ptrdiff_t>(at), end);
        if (begins && option.size() > 2 && is_meant(option)) {
            result += "`" + underscored(option.substr(2)) + "`";
            at += option.size();
        } else {
            result += text[at++];
        }
    }
    return result;
}

}  // namespace

const Command* active_app(const Command& root) {
    const Command* app = &root;
    while (app->given() != nullptr) app = app->given();
    return app;
}

std::string command_name(const Command& app) {
    return app.parent() == nullptr ? app.name() : command_name(*app.parent()) + " " + app.name();
}

std::string usage_line(const Command& app) {
    std::string line = command_name(app);
    if (!app.subcommands().empty()) line += " <verb>";
    for (const CommandOption& option : app.options()) {
        if (option.is_argument()) line += " " + option.name();
    }
    for (const CommandOption& option : app.options()) {
        if (option.is_argument() || !option.is_required()) continue;
        line += fmt::format(" {} {}", option.names().front(), option.type());
    }
    return line + " [options]";
}

Request read_words(Command& root, std::vector<std::string> words, const std::function<void()>& first) {
    std::optional<ParseFailure> failure;
    try {
        root.parse(std::move(words));
    } catch (const ParseFailure& thrown) {
        failure = thrown;
    }
    if (failure && (failure->kind() == ParseFailure::Kind::help || failure->kind() == ParseFailure::Kind::help_all)) {
        refuse_unknown_verb(root);  // the word before --help
        return failure->kind() == ParseFailure::Kind::help ? Request::help : Request::help_all;
    }
    if (first) first();
    refuse_leftovers(root);
    if (failure) throw explained(*failure, root);
    return Request::work;
}

InputError missing_verb(const Command& root) {
    return InputError(
        {"verb", "missing", fmt::format("one of {}", fmt::join(subcommand_names(root), ", ")), help_hint(root)});
}

std::string option_of(std::string_view parameter) {
    std::string name = "--" + std::string(parameter);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::string with_option_names(std::string_view text) { return spelled(text, option_of); }

ErrorParts with_option_names(const ErrorParts& parts, const Command& app, const std::vector<std::string>& words) {
    const auto own = quoted_in(words);
    ErrorParts named = spelled(parts, [&own](std::string_view name) {
        return own.contains(name) ? fmt::format("`{}`", name) : option_of(name);
    });
    // A file may be called like an option, and is what the user wrote.
    if (std::ranges::find(words, parts.where) != words.end()) return named;
    for (const CommandOption& option : app.options()) {
        for (const std::string& name : option.long_names()) {
            if (underscored(name) == parts.where) named.where = "--" + name;
        }
    }
    return named;
}

ErrorParts with_parameter_names(const ErrorParts& parts, const Command& app) {
    const std::vector<std::string> names = option_names(app);
    const auto known = [&](const std::string& option) {
        return std::find(names.begin(), names.end(), option) != names.end();
    };
    const auto any = [](const std::string&) { return true; };  // also one that there is not
    return {with_parameters(parts.where, any), with_parameters(parts.found, known),
            with_parameters(parts.expected, known), with_parameters(parts.remedy, known)};
}

}  // namespace couplet::cli
