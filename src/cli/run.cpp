#include "run.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <map>
#include <new>
#include <string>

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
    CommandLine() : root_("Federated tensor-train decomposition.", "couplet") {
        root_.allow_extras();
        root_.require_subcommand(0, 1);
        root_.set_help_flag("-h,--help", "Show this help, or the help of a verb")->group(globals_group);
        root_.add_flag("--version", version_, "Print the version")->group(globals_group);
        add_globals(root_, globals_);
        for (const Verb* verb : verbs()) {
            CLI::App* app = root_.add_subcommand(std::string(verb->name), std::string(verb->summary));
            app->allow_extras();
            app->set_help_flag("-h,--help", "Show this help")->group(globals_group);
            actions_[app] = verb->setup(*app);
            add_globals(*app, globals_);
        }
    }

    /// Throws InputError for any wrong usage.
    void parse(int argc, const char* const* argv) {
        try {
            root_.parse(argc, argv);
        } catch (const CLI::Success&) {
            help_ = true;
            return;
        } catch (const CLI::ParseError& error) {
            refuse_leftovers(root_);
            throw explained(error, root_);
        }
        refuse_leftovers(root_);
        if (!version_ && active_app(root_) == &root_) throw missing_verb();
    }

    void execute() {
        if (help_) return write_stdout(help_text(*active_app(root_)));
        if (globals_.threads) set_thread_count(*globals_.threads);
        Session session(globals_, name());
        if (version_) {
            session.print({{"version", version()}}, fmt::format("couplet {}\n", version()));
        } else {
            actions_.at(root_.get_subcommands().front())(session);
        }
    }

    /// "couplet decompose".
    std::string name() const { return command_name(*active_app(root_)); }

    /// Names an argument as the user wrote it where the library says `max_rank`.
    std::string message(const Error& error) const { return option_message(error.parts(), *active_app(root_)); }

  private:
    CLI::App root_;
    Globals globals_;
    bool version_ = false;
    bool help_ = false;
    std::map<const CLI::App*, Action> actions_;
};

int complain(const std::string& who, const std::string& message, Exit status) {
    write_stderr(fmt::format("{}: {}\n", who, message));
    return status;
}

}  // namespace

int run(int argc, const char* const* argv) {
    watch_signals();
    CommandLine line;
    try {
        line.parse(argc, argv);
        line.execute();
        return done;
    } catch (const InputError& error) {
        return complain(line.name(), line.message(error), bad_input);
    } catch (const Error& error) {
        const int status = complain(line.name(), line.message(error), failed);
        return caught_signal() != 0 ? 128 + caught_signal() : status;
    } catch (const std::bad_alloc&) {
        return complain(line.name(),
                        "memory: the system gave no more; expected enough for the tensor and its workspace. "
                        "Close other programs or use a larger machine.",
                        failed);
    } catch (const std::exception& error) {
        return complain(line.name(), error.what(), failed);
    }
}

}  // namespace couplet::cli
