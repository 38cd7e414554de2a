#include "session.hpp"

#include <fmt/format.h>

#include <vector>

#include "couplet/io/atomic_file.hpp"
#include "progress_bar.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "usage.hpp"

namespace couplet::cli {

void Session::claim_output(const std::string& path, std::span<const std::string> inputs) const {
    if (path.empty()) return;
    const std::vector<std::filesystem::path> paths(inputs.begin(), inputs.end());
    require_output(path, globals_.force, paths);
    clean_on_interrupt(std::filesystem::path(path).parent_path());
}

ProgressSink Session::progress() const {
    if (listener_) return listener_->progress;
    if (globals_.quiet || !stderr_is_terminal()) return {};
    return progress_bar(write_bar, locale_is_utf8());
}

void Session::note(std::string_view text) const {
    if (globals_.quiet) return;
    if (listener_) {
        if (listener_->note) listener_->note(text);
        return;
    }
    write_stderr(fmt::format("{}: {}\n", who_, visible(text)));
}

Spelling Session::spelling() const {
    if (!listener_) return option_of;
    return [](std::string_view name) { return std::string(name); };
}

void Session::print(const Json& json, std::string_view text) const {
    if (!globals_.json) return write_stdout(visible_lines(text));
    // File names may be any bytes; JSON is UTF-8.
    write_stdout(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace couplet::cli
