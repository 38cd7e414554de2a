#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

/// Times on a machine that has other work. What is sure to happen is waited for, with a limit that no load outlasts; a
/// window that somebody else waits to its end is as long as the machine is busy.
namespace couplet::support {

/// Whether it happens, sooner or later.
template <class F>
bool eventually(F happens, std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (!happens()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

/// How many want each core, over the last minute or now: 1 to 10. tests/chaos/busy_times.py does the same for Python.
inline double busyness() {
    std::ifstream file("/proc/loadavg");
    double minute = 0;
    double other = 0;
    double running = 0;
    file >> minute >> other >> other >> running;
    return std::clamp(std::max(minute, running) / std::max(1U, std::thread::hardware_concurrency()), 1.0, 10.0);
}

/// For somebody who needs far less than `alone` on a machine of its own: twice that, and more beside other work.
inline std::chrono::milliseconds at_ease(std::chrono::milliseconds alone) {
    return std::chrono::milliseconds(100 * std::lround(static_cast<double>(alone.count()) * (1 + busyness()) / 100));
}

/// As a duration of the command line.
inline std::string text_of(std::chrono::milliseconds time) { return std::to_string(time.count()) + "ms"; }

}  // namespace couplet::support
