#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"
#include "suggest.hpp"

namespace couplet::cli {
namespace {

/// A number as it was written, anything else in quotes.
std::string quoted(std::string_view text) {
    double ignored = 0;
    const bool plain = !text.empty() && parse_number(text, ignored) != NumberText::not_a_number;
    return plain ? std::string(text) : shown(text);
}

const Count& threads_count() {
    static const Count count{"--threads", "N", 1, 1024, "Leave it out to use every core."};
    return count;
}

void add_flag(Command& app, const std::string& name, bool& value, const std::string& description) {
    app.add_flag(name, value, description).last().group(globals_group);
}

/// "two.npy" as "two.npz": what looks like the extension of another file is replaced.
std::string with_extension(const std::string& name, const std::string& extension) {
    std::filesystem::path path(name);
    const std::string old = path.extension().string();
    if (old.size() < 2 || old.size() > 5) return name + extension;
    return path.replace_extension(extension).string();
}

}  // namespace

double parse_eps(const std::string& option, std::string_view text) {
    double value = 0;
    if (text.empty() || parse_number(text, value) != NumberText::number || !(value >= 0 && value < 1)) {
        throw InputError({option, quoted(text), "a number from 0 up to, but not including, 1",
                          "It is the relative error allowed: 0.01 is one percent."});
    }
    return value;
}

double parse_fraction(const std::string& option, std::string_view text) {
    double value = 0;
    if (text.empty() || parse_number(text, value) != NumberText::number || !(value >= 0 && value < 1)) {
        throw InputError({option, quoted(text), "a number from 0 up to, but not including, 1",
                          "It is a part of the whole: 0.2 is one in five."});
    }
    return value;
}

Index parse_count(const Count& count, std::string_view text) {
    Index value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < count.least || value > count.most) {
        const std::string range = count.most == std::numeric_limits<Index>::max()
                                      ? fmt::format("a whole number of at least {}", count.least)
                                      : fmt::format("a whole number from {} to {}", count.least, count.most);
        throw InputError({count.option, quoted(text), range, count.remedy});
    }
    return value;
}

std::uint64_t parse_seed(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw InputError({"--seed", quoted(text), "a whole number from 0 to 18446744073709551615",
                          "The same seed gives the same result."});
    }
    return value;
}

std::string parse_choice(const std::string& name, const std::vector<std::string>& words, const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return text;
    const auto near = nearest(text, words);
    throw InputError({name, shown(text), fmt::format("one of {}", fmt::join(words, ", ")),
                      near ? fmt::format("Did you mean {}?", *near) : ""});
}

void add_globals(Command& app, Globals& globals) {
    add_flag(app, "--json", globals.json, "Print one JSON object instead of tables");
    app.add_option(
           "--seed", [&globals](const std::string& text) { globals.seed = parse_seed(text); },
           "Seed of the random numbers; the same seed gives the same result")
        .type("N")
        .standard("0")
        .group(globals_group);
    app.add_option(
           "--threads",
           [&globals](const std::string& text) {
               globals.threads = static_cast<int>(parse_count(threads_count(), text));
           },
           "Threads to use; the result does not depend on it")
        .type("N")
        .standard("all cores")
        .group(globals_group);
    add_flag(app, "--quiet", globals.quiet, "No progress bar and no notes on stderr");
    add_flag(app, "--force", globals.force, "Replace an output that exists");
}

void add_input(Command& app, const std::string& name, std::string& value, const std::string& description) {
    app.add_option(name, value, description).type("FILE").required();
}

void add_output(Command& app, const std::string& extension, bool required, std::string& value,
                const std::string& description) {
    app.add_option(
           "-o,--output",
           [&value, extension](const std::string& text) {
               if (!text.ends_with(extension)) {
                   throw InputError({"--output", shown(text), fmt::format("a name that ends in {}", extension),
                                     fmt::format("For example: -o {}", with_extension(text, extension))});
               }
               value = text;
           },
           description)
        .type("FILE" + extension)
        .required(required);
}

void add_eps(Command& app, std::optional<double>& value, const std::string& description) {
    app.add_option(
           "--eps", [&value](const std::string& text) { value = parse_eps("--eps", text); }, description)
        .type("E");
}

void add_max_rank(Command& app, std::optional<Index>& value, const std::string& description) {
    const Count count{"--max-rank", "R", 1, std::numeric_limits<Index>::max(), "Leave it out for no limit."};
    app.add_option(
           count.option, [&value, count](const std::string& text) { value = parse_count(count, text); }, description)
        .type(count.letter)
        .standard("no limit");
}

void add_count(Command& app, const Count& count, Index& value, const std::string& description) {
    app.add_option(
           count.option, [&value, count](const std::string& text) { value = parse_count(count, text); }, description)
        .type(count.letter)
        .standard(std::to_string(value));
}

void add_choice(Command& app, const std::string& name, const std::vector<std::string>& words, std::string& value,
                const std::string& description) {
    auto option = app.add_option(
        name, [&value, name, words](const std::string& text) { value = parse_choice(name, words, text); }, description);
    option.type(fmt::format("{}", fmt::join(words, "|")));
    if (name.starts_with("-")) {
        option.standard(value);
    } else {
        option.required();
    }
}

void add_text(Command& app, const std::string& name, const std::string& type, const std::string& standard,
              const std::string& description, std::function<void(const std::string&)> take) {
    app.add_option(name, std::move(take), description).type(type).standard(standard);
}

}  // namespace couplet::cli
