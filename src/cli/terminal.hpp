#pragma once

#include <string_view>

namespace couplet::cli {

/// Writes all of it. Nobody reading any more (`couplet ... | head -1`) counts as done; throws RunError when the
/// disk behind stdout is full or fails.
void write_stdout(std::string_view text);

/// Whether write_stdout() was called: a result or a part of it is there.
bool wrote_stdout() noexcept;

/// Writes what it can; there is nowhere to complain.
void write_stderr(std::string_view text) noexcept;

bool stderr_is_terminal() noexcept;

/// Whether the locale of the environment is UTF-8, so that block characters can be printed.
bool locale_is_utf8() noexcept;

}  // namespace couplet::cli
