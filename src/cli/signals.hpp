#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace couplet::cli {

/// From here on SIGINT, SIGTERM and SIGHUP wait for files that get their names together, remove the temporary files of
/// this process from the folders given to clean_on_interrupt() and folders that it made for nothing, and end it with
/// 128 + the signal; those ignored at the start (nohup) stay ignored. A closed pipe becomes a write error instead of a
/// signal. Call before any thread starts.
void watch_signals();

/// While it lives, the first of these signals calls `stop`, from another thread, instead of ending the process; the
/// next one ends it as ever. One at a time.
class StopOnSignal {
  public:
    explicit StopOnSignal(std::function<void()> stop);
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;
};

/// The signal that has called a StopOnSignal; 0 when none did.
int caught_signal() noexcept;

/// What is said, from another thread, when one of these signals ends the process. It must not outlive what it uses.
void tell_interrupt(std::function<void(int signal)> tell);

/// Does not return where a signal is ending the process: what fails then fails for want of the files that are being
/// removed, and is no news.
void stand_aside();

/// The folder of an output: temporary names appear there.
void clean_on_interrupt(const std::filesystem::path& folder);

/// Removes what an AtomicFile or StagedFiles of process `process` left in `folder`.
void remove_temporaries(const std::filesystem::path& folder, pid_t process) noexcept;

}  // namespace couplet::cli
