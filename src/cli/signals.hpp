#pragma once

#include <sys/types.h>

#include <filesystem>

namespace couplet::cli {

/// From here on SIGINT, SIGTERM and SIGHUP remove the temporary files of this process from the folders given to
/// clean_on_interrupt() and end it with 128 + the signal; those ignored at the start (nohup) stay ignored. A closed
/// pipe becomes a write error instead of a signal. Call before any thread starts.
void watch_signals();

/// The folder of an output: temporary names appear there.
void clean_on_interrupt(const std::filesystem::path& folder);

/// Removes what an AtomicFile of process `process` left in `folder`.
void remove_temporaries(const std::filesystem::path& folder, pid_t process) noexcept;

}  // namespace couplet::cli
