#include "command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace couplet::cli {
namespace {

/// In the place of "--", as a flag of every command: whatever takes several values has had its last.
constexpr const char* end_of_options = "--\x7f";

}  // namespace

CommandOption& CommandOption::type(const std::string& name) {
    option_->type_name(name);
    return *this;
}

CommandOption& CommandOption::standard(const std::string& text) {
    option_->default_str(text);
    return *this;
}

CommandOption& CommandOption::required(bool needed) {
    option_->required(needed);
    return *this;
}

CommandOption& CommandOption::group(const std::string& name) {
    option_->group(name);
    return *this;
}

CommandOption& CommandOption::delimiter(char mark) {
    option_->delimiter(mark);
    return *this;
}

CommandOption& CommandOption::each() {
    option_->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return *this;
}

CommandOption& CommandOption::last() {
    option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return *this;
}

bool CommandOption::is_argument() const { return option_->get_positional(); }
bool CommandOption::is_required() const { return option_->get_required(); }
bool CommandOption::takes_value() const { return option_->get_items_expected_max() > 0; }
bool CommandOption::takes_many() const {
    return option_->get_expected_max() > 1 || option_->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw;
}
std::size_t CommandOption::count() const { return option_->count(); }
std::string CommandOption::name() const { return option_->get_name(); }

std::vector<std::string> CommandOption::names() const {
    std::vector<std::string> names;
    for (const std::string& name : option_->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option_->get_lnames()) names.push_back("--" + name);
    return names;
}

std::vector<std::string> CommandOption::long_names() const { return option_->get_lnames(); }
std::string CommandOption::type() const { return option_->get_type_name(); }
std::string CommandOption::description() const { return option_->get_description(); }
std::string CommandOption::standard() const { return option_->get_default_str(); }
std::string CommandOption::group() const { return option_->get_group(); }

Command::Command(const std::string& name, const std::string& description)
    : root_(std::make_unique<CLI::App>(description, name)), app_(root_.get()) {
    prepare();
}

Command::Command(CLI::App& app, const Command& parent) : app_(&app), parent_(&parent) { prepare(); }

Command::~Command() = default;

void Command::prepare() {
    app_->set_help_flag();
    app_->set_help_all_flag();
    app_->allow_extras();
    app_->require_subcommand(0, 1);
    app_->add_flag(end_of_options);
}

void Command::mark_arguments(std::vector<std::string>& words) {
    mark_.clear();
    const auto end = std::find(words.begin(), words.end(), "--");
    const bool after_verb = std::any_of(words.begin(), end, [this](const std::string& word) {
        return std::any_of(children_.begin(), children_.end(), [&](const auto& one) { return one->name() == word; });
    });
    if (end == words.end() || !after_verb) return;
    // A character that nobody has written.
    char mark = 1;
    const auto occurs = [&](const std::string& word) { return word.find(mark) != std::string::npos; };
    while (mark < ' ' && std::any_of(words.begin(), words.end(), occurs)) ++mark;
    if (mark == ' ') return;
    mark_ = mark;
    *end = end_of_options;
    for (auto word = end + 1; word != words.end(); ++word) *word = mark_ + *word;
}

std::string Command::plain(const std::string& word) const {
    if (parent_ != nullptr) return parent_->plain(word);
    return !mark_.empty() && word.starts_with(mark_) ? word.substr(1) : word;
}

Command& Command::add_subcommand(const std::string& name, const std::string& description) {
    children_.emplace_back(new Command(*app_->add_subcommand(name, description), *this));
    return *children_.back();
}

CommandOption Command::add_option(const std::string& names, std::string& value, const std::string& description) {
    return add_option(
        names, [&value](const std::string& word) { value = word; }, description);
}

CommandOption Command::add_option(const std::string& names, std::vector<std::string>& values,
                                  const std::string& description) {
    const auto take = [this, &values](const std::vector<std::string>& words) {
        values.clear();
        for (const std::string& word : words) values.push_back(plain(word));
    };
    return CommandOption(*app_->add_option_function<std::vector<std::string>>(names, take, description));
}

CommandOption Command::add_option(const std::string& names, std::function<void(const std::string&)> take,
                                  const std::string& description) {
    const auto given = [this, take = std::move(take)](const std::string& word) { take(plain(word)); };
    return CommandOption(*app_->add_option_function<std::string>(names, given, description));
}

CommandOption Command::add_flag(const std::string& names, bool& value, const std::string& description) {
    return CommandOption(*app_->add_flag(names, value, description));
}

CommandOption Command::add_flag(const std::string& names, std::function<void()> act, const std::string& description) {
    return CommandOption(*app_->add_flag_callback(names, std::move(act), description));
}

CommandOption Command::add_help(const std::string& description) {
    return CommandOption(*app_->set_help_flag("-h,--help", description));
}

CommandOption Command::add_help_all(const std::string& description) {
    return CommandOption(*app_->set_help_all_flag("--help-all", description));
}

void Command::remove_option(const std::string& name) { app_->remove_option(app_->get_option(name)); }

void Command::parse(std::vector<std::string> words) {
    mark_arguments(words);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
        app_->parse(std::move(words));
    } catch (const CLI::CallForAllHelp& asked) {
        throw ParseFailure(ParseFailure::Kind::help_all, asked.what());
    } catch (const CLI::Success& success) {
        throw ParseFailure(ParseFailure::Kind::help, success.what());
    } catch (const CLI::RequiredError& error) {
        throw ParseFailure(ParseFailure::Kind::missing, error.what());
    } catch (const CLI::ArgumentMismatch& error) {
        throw ParseFailure(ParseFailure::Kind::no_value, error.what());
    } catch (const CLI::ParseError& error) {
        throw ParseFailure(ParseFailure::Kind::other, error.what());
    }
}

const std::string& Command::name() const { return app_->get_name(); }
std::string Command::description() const { return app_->get_description(); }

std::vector<const Command*> Command::subcommands() const {
    std::vector<const Command*> commands;
    for (const auto& child : children_) commands.push_back(child.get());
    return commands;
}

const Command* Command::given() const {
    const auto given = app_->get_subcommands();
    for (const auto& child : children_) {
        if (!given.empty() && given.front() == child->app_) return child.get();
    }
    return nullptr;
}

std::vector<std::string> Command::remaining() const {
    std::vector<std::string> words;
    bool ended = false;
    for (const std::string& word : app_->remaining()) {
        const std::string own = plain(word);
        if (own != word && !ended) words.emplace_back("--");
        ended = ended || own != word;
        words.push_back(own);
    }
    return words;
}

std::vector<CommandOption> Command::options() const {
    std::vector<CommandOption> options;
    for (CLI::Option* option : app_->get_options()) {
        if (option->get_name() != end_of_options) options.emplace_back(*option);
    }
    return options;
}

std::optional<CommandOption> Command::option(const std::string& name) const {
    CLI::Option* option = app_->get_option_no_throw(name);
    if (option == nullptr) return std::nullopt;
    return CommandOption(*option);
}

std::size_t Command::count(const std::string& option) const { return app_->count(option); }

}  // namespace couplet::cli
