#include "terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "couplet/core/error.hpp"

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

}  // namespace

namespace {
std::atomic<bool> stdout_used{false};
}

bool wrote_stdout() noexcept { return stdout_used; }

void write_stdout(std::string_view text) {
    stdout_used = true;
    const int code = write_all(STDOUT_FILENO, text);
    if (code == 0 || code == EPIPE) return;
    throw RunError({"standard output", "writing failed: " + std::generic_category().message(code),
                    "a place that takes all the bytes", code == ENOSPC ? "Free some space." : ""});
}

void write_stderr(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

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
