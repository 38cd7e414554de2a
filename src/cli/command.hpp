#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace couplet::cli {

/// An option or an argument of a command, which it must not outlive. CLI11 does the work; its header is read by
/// command.cpp alone, since whoever reads it compiles all of it.
class CommandOption {
  public:
    explicit CommandOption(CLI::Option& option) : option_(&option) {}

    /// What stands for its value in the help; "a|b" are words that shells complete, "FILE..." a file.
    CommandOption& type(const std::string& name);
    /// Shown as its default.
    CommandOption& standard(const std::string& text);
    CommandOption& required(bool needed = true);
    /// The heading in the help that it stands under.
    CommandOption& group(const std::string& name);
    /// Values of a list that are written as one word.
    CommandOption& delimiter(char mark);
    /// One value each time it is given; all of them are kept.
    CommandOption& each();
    /// Given several times: the last counts.
    CommandOption& last();

    bool is_argument() const;
    bool is_required() const;
    bool takes_value() const;
    bool takes_many() const;                      ///< values, or it may be given several times
    std::size_t count() const;                    ///< of values given
    std::string name() const;                     ///< as errors have it
    std::vector<std::string> names() const;       ///< with their dashes, the short ones first
    std::vector<std::string> long_names() const;  ///< without
    std::string type() const;
    std::string description() const;
    std::string standard() const;
    std::string group() const;

  private:
    CLI::Option* option_;
};

/// Words that are no command line. `help`: none was wanted, but help.
class ParseFailure : public std::runtime_error {
  public:
    enum class Kind { help, help_all, missing, no_value, other };
    ParseFailure(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
    Kind kind() const noexcept { return kind_; }

  private:
    Kind kind_;
};

/// A verb, or the root of the verbs: what can be written after it, and what was. Words that nothing takes are kept for
/// whoever reports them.
class Command {
  public:
    explicit Command(const std::string& name = "", const std::string& description = "");
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Lives as long as this command.
    Command& add_subcommand(const std::string& name, const std::string& description = "");
    /// `names`: "-o,--output", or a word for an argument.
    CommandOption add_option(const std::string& names, std::string& value, const std::string& description = "");
    CommandOption add_option(const std::string& names, std::vector<std::string>& values,
                             const std::string& description = "");
    CommandOption add_option(const std::string& names, std::function<void(const std::string&)> take,
                             const std::string& description = "");
    CommandOption add_flag(const std::string& names, bool& value, const std::string& description = "");
    CommandOption add_flag(const std::string& names, std::function<void()> act, const std::string& description = "");
    /// -h, --help, which ends the parse as a failure of that kind.
    CommandOption add_help(const std::string& description);
    /// --help-all, likewise.
    CommandOption add_help_all(const std::string& description);
    void remove_option(const std::string& name);

    /// The words after the name of the root; those after "--" are no options of the verb before it. Throws
    /// ParseFailure, and what a `take` above throws.
    void parse(std::vector<std::string> words);

    const std::string& name() const;
    std::string description() const;
    const Command* parent() const noexcept { return parent_; }
    std::vector<const Command*> subcommands() const;
    const Command* given() const;                ///< the subcommand among the words; null for none
    std::vector<std::string> remaining() const;  ///< what nothing took; "--" before words that are no options
    std::vector<CommandOption> options() const;
    std::optional<CommandOption> option(const std::string& name) const;
    /// How often it was given; it must be there.
    std::size_t count(const std::string& option) const;

  private:
    Command(CLI::App& app, const Command& parent);
    void prepare();
    /// CLI11 hands "--" to the root where a verb has the arguments that it needs, though it would take more. What comes
    /// after is marked instead, so that nothing takes it for an option, and `plain` takes the mark off.
    void mark_arguments(std::vector<std::string>& words);
    std::string plain(const std::string& word) const;

    std::unique_ptr<CLI::App> root_;  ///< of the root only
    CLI::App* app_;
    const Command* parent_ = nullptr;
    std::string mark_;  ///< of the root only
    std::vector<std::unique_ptr<Command>> children_;
};

}  // namespace couplet::cli
