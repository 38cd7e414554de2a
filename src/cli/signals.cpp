#include "signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "couplet/io/made_folder.hpp"
#include "couplet/io/staged_files.hpp"
#include "terminal.hpp"

namespace couplet::cli {
namespace {

namespace fs = std::filesystem;

/// What the waiting thread does on a signal.
struct Shared {
    std::mutex mutex;
    std::vector<fs::path> folders;
    std::function<void()> stop;
    std::function<void(int)> tell;
    std::atomic<int> caught{0};
};

/// Never destroyed: the waiting thread may need it while the process ends.
Shared& shared() {
    static auto* const only = new Shared;
    return *only;
}

bool is_ignored(int signal) {
    struct sigaction current {};
    return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

/// A thread that waits may lock, allocate and read folders, which a signal handler may not.
[[noreturn]] void wait_for(sigset_t signals) {
    for (;;) {
        int signal = 0;
        while (::sigwait(&signals, &signal) != 0) continue;
        Shared& known = shared();
        const std::lock_guard lock(known.mutex);
        if (known.stop && known.caught == 0) {
            known.caught = signal;
            known.stop();
            continue;
        }
        end_commits();
        remove_made_folders([&] {
            for (const fs::path& folder : known.folders) remove_temporaries(folder, ::getpid());
        });
        end_bars();
        if (known.tell) known.tell(signal);
        ::_exit(128 + signal);
    }
}

}  // namespace

void watch_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, with a message
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        if (!is_ignored(signal)) ::sigaddset(&signals, signal);
    }
    shared();
    // Every later thread inherits the mask, so only the waiting one takes these signals.
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread(wait_for, signals).detach();
}

StopOnSignal::StopOnSignal(std::function<void()> stop) {
    const std::lock_guard lock(shared().mutex);
    shared().stop = std::move(stop);
}

StopOnSignal::~StopOnSignal() {
    const std::lock_guard lock(shared().mutex);
    shared().stop = nullptr;
}

void stand_aside() {
    // Whoever ends the process has it for good.
    const std::lock_guard lock(shared().mutex);
}

int caught_signal() noexcept { return shared().caught; }

void tell_interrupt(std::function<void(int)> tell) {
    Shared& known = shared();
    const std::lock_guard lock(known.mutex);
    known.tell = std::move(tell);
}

void clean_on_interrupt(const fs::path& folder) {
    Shared& known = shared();
    const std::lock_guard lock(known.mutex);
    known.folders.push_back(folder.empty() ? fs::path(".") : folder);
}

void remove_temporaries(const fs::path& folder, pid_t process) noexcept {
    try {
        const std::string prefix = ".couplet-" + std::to_string(process) + "-";
        std::error_code ignored;
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(folder, ignored)) {
            if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
        }
        for (const fs::path& one : found) {
            // Under another name first: whoever is still writing into a folder cannot fill it again.
            const fs::path away = one.string() + ".removed";
            fs::rename(one, away, ignored);
            fs::remove_all(ignored ? one : away, ignored);
        }
    } catch (const std::exception&) {
        return;  // the process ends anyway
    }
}

}  // namespace couplet::cli
