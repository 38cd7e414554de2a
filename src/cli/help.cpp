#include "help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "usage.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view root_text =
    "Decomposes tensors into tensor trains, chains of small cores whose product approximates the tensor, for one data "
    "owner or for a federation of owners who keep their data. "
    "Tensors are .npy files (also .csv, .csv.gz, .tns); models are .npz files that numpy.load reads. Arguments after "
    "-- are not parsed as options.";

constexpr std::string_view root_examples =
    "couplet ranks X.npy                          which rank gives which error\n"
    "couplet decompose X.npy --eps 0.05 -o M.npz  a model within 5% of the tensor\n"
    "couplet reconstruct M.npz -o Y.npy           and back\n"
    "couplet simulate a.npy b.npy --rank 10       common features of two owners";

std::string label(const CommandOption& option) {
    if (option.is_argument()) return option.name();
    std::string text = fmt::format("{}", fmt::join(option.names(), ", "));
    const std::string type = option.type();
    // A list of words is long: it stands in the description.
    if (!type.empty()) text += type.find('|') == std::string::npos ? " " + type : " WORD";
    return text;
}

std::string with_values(const CommandOption& option, std::string text) {
    std::string words = option.type();
    if (words.find('|') != std::string::npos) {
        for (std::size_t i = 0; (i = words.find('|', i)) != std::string::npos;) words.replace(i, 1, ", ");
        text += " [" + words + "]";
    }
    if (!option.standard().empty()) text += fmt::format(" (default: {})", option.standard());
    return text;
}

std::string explanation(const CommandOption& option) { return with_values(option, option.description()); }

Rows option_rows(const Command& app, bool positional, std::string_view group) {
    Rows rows;
    for (const CommandOption& option : app.options()) {
        if (option.is_argument() != positional || (!positional && option.group() != group)) continue;
        rows.emplace_back(label(option), explanation(option));
    }
    return rows;
}

/// Groups of options in the order in which they were added, those of every verb last.
std::vector<std::string> option_groups(const Command& app) {
    std::vector<std::string> groups;
    for (const CommandOption& option : app.options()) {
        const std::string group = option.group();
        if (option.is_argument() || group == globals_group) continue;
        if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
    groups.emplace_back(globals_group);
    return groups;
}

std::string section(std::string_view title, const Rows& rows) {
    return rows.empty() ? "" : fmt::format("\n{}:\n{}", title, fields(rows, 2));
}

std::string paragraph_section(std::string_view title, std::string_view text) {
    return text.empty() ? "" : fmt::format("\n{}:\n{}\n", title, wrapped(text, 2));
}

/// Commands are never broken: a broken one cannot be copied.
std::string example_section(std::string_view text) {
    if (text.empty()) return "";
    std::string lines = "  " + std::string(text);
    for (std::size_t i = 0; (i = lines.find('\n', i)) != std::string::npos; i += 3) lines.replace(i, 1, "\n  ");
    return fmt::format("\nExamples:\n{}\n", lines);
}

std::string root_help(const Command& app) {
    std::string text = fmt::format("Usage: {}\n\n{}\n", usage_line(app), wrapped(root_text, 0));
    for (auto verb = verbs().begin(); verb != verbs().end();) {
        const std::string_view group = (*verb)->group;
        Rows rows;
        for (; verb != verbs().end() && (*verb)->group == group; ++verb) {
            rows.emplace_back((*verb)->name, (*verb)->summary);
        }
        text += section(group, rows);
    }
    text += section(globals_group, option_rows(app, false, globals_group));
    text += example_section(root_examples);
    return text + "\ncouplet VERB --help explains a verb; --help-all lists all of its options.\n";
}

std::string full_verb_help(const Command& app, const Verb* verb) {
    std::string text = fmt::format("{}: {}\n\nUsage: {}\n", command_name(app), app.description(), usage_line(app));
    if (verb != nullptr) text += "\n" + wrapped(verb->description, 0) + "\n";
    text += section("Arguments", option_rows(app, true, ""));
    for (const std::string& group : option_groups(app)) text += section(group, option_rows(app, false, group));
    if (verb != nullptr) text += paragraph_section("Output", verb->output) + example_section(verb->examples);
    return text;
}

const Verb* verb_of(const Command& app) {
    const auto all = verbs();
    const bool top = app.parent() != nullptr && app.parent()->parent() == nullptr;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Verb* verb) { return top && verb->name == app.name(); });
    return found == all.end() ? nullptr : *found;
}

/// The text up to the first sign that ends a sentence or begins an aside, but at least a few words of it.
std::string first_clause(const std::string& text) {
    constexpr std::size_t least = 12;
    std::size_t end = std::min({text.find(". "), text.find(": "), text.find("; "), text.find(" (")});
    if (end != std::string::npos && end < least) end = std::min(text.find(". ", end + 1), text.find("; ", end + 1));
    return text.substr(0, end);
}

bool is_common(const CommandOption& option, const std::vector<std::string>& common) {
    if (option.group() == globals_group) return false;
    const auto names = option.long_names();
    return common.empty() || std::ranges::any_of(common, [&](const std::string& name) {
               return std::ranges::find(names, name) != names.end();
           });
}

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    return {std::istream_iterator<std::string>(stream), {}};
}

std::string first_lines(std::string_view text, int count) {
    std::size_t end = 0;
    for (int i = 0; i < count && end != std::string_view::npos; ++i) end = text.find('\n', end + (i > 0));
    return std::string(text.substr(0, end));
}

std::string short_verb_help(const Command& app, const Verb& verb) {
    constexpr int examples = 6;
    const std::vector<std::string> common = words_of(verb.common);
    Rows rows;
    for (const CommandOption& option : app.options()) {
        if (option.is_argument() || !is_common(option, common)) continue;
        rows.emplace_back(label(option), with_values(option, first_clause(option.description())));
    }
    const std::string_view description = verb.description;
    std::string text = fmt::format("{}: {}\n\nUsage: {}\n\n{}\n", command_name(app), app.description(), usage_line(app),
                                   wrapped(description.substr(0, description.find("\n\n")), 0));
    text += example_section(first_lines(verb.examples, examples));
    text +=
        section("Arguments", option_rows(app, true, "")) + section(common.empty() ? "Options" : "Common options", rows);
    return text + fmt::format("\n{} --help-all explains every option and the output.\n", command_name(app));
}

}  // namespace

std::string help_text(const Command& app) {
    if (app.parent() == nullptr) return root_help(app);
    const Verb* verb = verb_of(app);
    return verb == nullptr ? full_verb_help(app, nullptr) : short_verb_help(app, *verb);
}

std::string full_help_text(const Command& app) {
    return app.parent() == nullptr ? root_help(app) : full_verb_help(app, verb_of(app));
}

}  // namespace couplet::cli
