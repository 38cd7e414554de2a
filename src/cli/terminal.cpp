#include "terminal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"

namespace couplet::cli {
namespace {

/// 0 or the error.
int write_all(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

std::atomic<bool> stdout_used{false};

/// Never destroyed: a thread may wait on it while the process ends.
std::mutex& stdout_turn() {
    static auto* const only = new std::mutex;
    return *only;
}

/// Whose turn it is to draw a bar, and whether there are to be any.
struct Bars {
    std::timed_mutex turn;
    std::atomic<bool> over{false};
};

/// A terminal that is full may be read a moment later, as on a busy machine, or never again.
constexpr std::chrono::milliseconds slow_terminal{5'000};

/// Never destroyed, likewise.
Bars& bars() {
    static auto* const only = new Bars;
    return *only;
}

/// Controls, and what turns the direction of reading (Unicode's bidirectional controls).
bool is_hidden(char32_t point) {
    return is_control(point) || (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200e || point == 0x200f || point == 0x061c;
}

std::string made_visible(std::string_view text, bool lines) {
    std::string result;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        const std::size_t length = next.length > 0 ? next.length : 1;
        if (next.length > 0 && (!is_hidden(next.value) || (lines && next.value == '\n'))) {
            result += text.substr(0, length);
        } else {
            for (const char byte : text.substr(0, length)) {
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
            }
        }
        text.remove_prefix(length);
    }
    return result;
}

}  // namespace

std::string visible(std::string_view text) { return made_visible(text, false); }
std::string visible_lines(std::string_view text) { return made_visible(text, true); }

void write_last(std::string_view text) noexcept {
    // Whoever is writing now has the word, and may never get rid of it.
    if (!stdout_turn().try_lock()) return;
    if (!stdout_used) write_all(STDOUT_FILENO, text);
}

bool wrote_stdout() noexcept { return stdout_used; }

void write_stdout(std::string_view text) {
    const std::lock_guard turn(stdout_turn());
    stdout_used = true;
    const int code = write_all(STDOUT_FILENO, text);
    if (code == 0 || code == EPIPE) return;
    throw RunError({"standard output", "writing failed: " + std::generic_category().message(code),
                    "a place that takes all the bytes", code == ENOSPC ? "Free some space." : ""});
}

void write_stderr(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

void write_bar(std::string_view text) noexcept {
    const std::lock_guard turn(bars().turn);
    if (!bars().over) write_stderr(text);
}

void end_bars() noexcept {
    bars().over = true;
    // Whoever is drawing now is cleared after; whoever comes later draws nothing.
    const std::unique_lock turn(bars().turn, slow_terminal);
    pollfd terminal{STDERR_FILENO, POLLOUT, 0};
    if (turn && stderr_is_terminal() && ::poll(&terminal, 1, static_cast<int>(slow_terminal.count())) == 1 &&
        (terminal.revents & POLLOUT) != 0) {
        write_stderr("\r\x1b[K");
    }
}

bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

bool locale_is_utf8() noexcept {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        std::string lower(value);
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
    }
    return false;
}

}  // namespace couplet::cli
