#include "run.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "help.hpp"
#include "options.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "usage.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

enum Exit { done = 0, failed = 1, bad_input = 2 };

/// The parsed tree and what each verb wants to do with it.
class CommandLine {
  public:
    CommandLine() : root_("couplet", "Federated tensor-train decomposition.") {
        root_.add_help("Show this help, or the help of a verb").group(globals_group);
        root_.add_flag("--version", version_, "Print the version").group(globals_group);
        add_globals(root_, globals_);
        for (const Verb* verb : verbs()) {
            Command& app = root_.add_subcommand(std::string(verb->name), std::string(verb->summary));
            app.add_help("Show examples and the common options").group(globals_group);
            app.add_help_all("Show every option and explain the output").group(globals_group);
            actions_[&app] = verb->setup(app);
            add_globals(app, globals_);
        }
    }

    /// Throws InputError for any wrong usage.
    void parse(int argc, const char* const* argv) {
        words_.assign(argv, argv + argc);
        request_ = read_words(root_, {words_.begin() + (words_.empty() ? 0 : 1), words_.end()});
        if (words_.size() <= 1) request_ = Request::help;  // the verbs
        if (request_ == Request::work && !version_ && active_app(root_) == &root_) throw missing_verb(root_);
    }

    void execute() {
        if (request_ == Request::help) return write_stdout(help_text(*active_app(root_)));
        if (request_ == Request::help_all) return write_stdout(full_help_text(*active_app(root_)));
        if (globals_.threads) set_thread_count(*globals_.threads);
        Session session(globals_, name());
        if (version_) {
            session.print({{"version", version()}}, fmt::format("couplet {}\n", version()));
        } else {
            actions_.at(root_.given())(session);
        }
    }

    /// "couplet decompose".
    std::string name() const { return command_name(*active_app(root_)); }

    /// An argument is named as the user wrote it where the library says `max_rank`.
    ErrorParts parts(const Error& error) const { return with_option_names(error.parts(), *active_app(root_), words_); }

  private:
    Command root_;
    Globals globals_;
    bool version_ = false;
    Request request_ = Request::work;
    std::map<const Command*, Action> actions_;
    std::vector<std::string> words_;
};

/// `couplet help simulate` is `couplet simulate --help`.
std::vector<const char*> without_help_verb(int argc, const char* const* argv) {
    std::vector<const char*> words(argv, argv + argc);
    if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
    words.erase(words.begin() + 1);
    words.push_back("--help");
    return words;
}

/// Words after "--" are no options.
std::vector<const char*>::const_iterator end_of_options(const std::vector<const char*>& words) {
    return std::find_if(words.begin(), words.end(), [](std::string_view word) { return word == "--"; });
}

/// Where errors are said. Wrong usage is found before options are known, so --json is looked for among the words.
class Complaints {
  public:
    explicit Complaints(const std::vector<const char*>& words)
        : json_(std::any_of(words.begin(), end_of_options(words),
                            [](std::string_view word) { return word == "--json"; })) {}

    int say(const std::string& who, const ErrorParts& parts, int status) const {
        return say(who, parts, Error(parts).what(), status);
    }
    /// For what has no parts but what it says.
    int say(const std::string& who, const std::string& message, int status) const {
        return say(who, {"", message, "", ""}, message, status);
    }

    /// For a signal that ends the process while the verb is still at work.
    void say_interrupted(const std::string& who, int signal) const {
        const char* name = ::sigabbrev_np(signal);
        const ErrorParts parts{"the run", fmt::format("ended by SIG{}", name == nullptr ? "?" : name), "time to finish",
                               "Run it again: nothing half-written is left."};
        if (json_) write_last(object(who, parts, Error(parts).what(), 128 + signal));
    }

  private:
    static std::string object(const std::string& who, const ErrorParts& parts, const std::string& message, int status) {
        const Json error{{"command", who},       {"message", message},         {"where", parts.where},
                         {"found", parts.found}, {"expected", parts.expected}, {"remedy", parts.remedy},
                         {"status", status}};
        return Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    int say(const std::string& who, const ErrorParts& parts, const std::string& message, int status) const {
        stand_aside();
        write_stderr(fmt::format("{}: {}\n", who, visible(message)));
        // One object and no more: a verb may have printed its result before it failed.
        if (!json_ || wrote_stdout()) return status;
        try {
            write_stdout(object(who, parts, message, status));
        } catch (const Error&) {
            return status;  // it was said on stderr
        }
        return status;
    }

    bool json_;
};

}  // namespace

int run(int argc, const char* const* argv) {
    watch_signals();
    const auto words = without_help_verb(argc, argv);
    // Never destroyed: a signal may need it while the process ends.
    const auto& complaints = *new Complaints(words);
    CommandLine line;
    try {
        line.parse(static_cast<int>(words.size()), words.data());
        tell_interrupt([&complaints, who = line.name()](int signal) { complaints.say_interrupted(who, signal); });
        line.execute();
        stand_aside();
        return done;
    } catch (const InputError& error) {
        return complaints.say(line.name(), line.parts(error), bad_input);
    } catch (const Error& error) {
        const int status = caught_signal() != 0 ? 128 + caught_signal() : failed;
        return complaints.say(line.name(), line.parts(error), status);
    } catch (const std::bad_alloc&) {
        return complaints.say(line.name(),
                              {"memory", "the system gave no more", "enough for the tensor and its workspace",
                               "Close other programs or use a larger machine."},
                              failed);
    } catch (const std::exception& error) {
        return complaints.say(line.name(), std::string(error.what()), failed);
    }
}

}  // namespace couplet::cli
