#pragma once

#include <string>
#include <string_view>

namespace couplet::cli {

/// Writes all of it. Nobody reading any more (`couplet ... | head -1`) counts as done; throws RunError when the
/// disk behind stdout is full or fails.
void write_stdout(std::string_view text);

/// For the end of a process that another thread may be writing in: writes the text unless write_stdout() was called,
/// and lets nobody write after it.
void write_last(std::string_view text) noexcept;

/// Text as a terminal shows it: what would move the cursor, change colours or turn the direction of reading, and bytes
/// that are not UTF-8, as \x1b and the like. File names and labels may hold anything.
std::string visible(std::string_view text);
/// The same for a text of several lines, whose ends stay.
std::string visible_lines(std::string_view text);

/// Whether write_stdout() was called: a result or a part of it is there.
bool wrote_stdout() noexcept;

/// Writes what it can; there is nowhere to complain.
void write_stderr(std::string_view text) noexcept;

/// The same for a progress bar; nothing once end_bars() was called.
void write_bar(std::string_view text) noexcept;
/// For the end of a process that another thread may be drawing a bar in: clears the terminal's line, where the prompt
/// comes next, and lets no bar be drawn after it. A terminal that takes nothing (Ctrl-S) holds it up for five seconds.
void end_bars() noexcept;

bool stderr_is_terminal() noexcept;

/// Whether the locale of the environment is UTF-8, so that block characters can be printed.
bool locale_is_utf8() noexcept;

}  // namespace couplet::cli
