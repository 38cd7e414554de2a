#include "progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "format.hpp"

namespace couplet::cli {
namespace {

constexpr std::string_view erase_line = "\r\x1b[K";

/// "  12 s, 30 s left" once the work takes long enough to ask.
std::string time_text(const BarTime& time) {
    if (time.passed < 2) return "";
    if (!time.left) return fmt::format("  {:.0f} s", time.passed);
    return fmt::format("  {:.0f} s, {:.0f} s left", time.passed, *time.left);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// The bar that stands, and since when.
class Line {
  public:
    Line(std::function<void(std::string_view)> write, bool utf8) : write_(std::move(write)), utf8_(utf8) {}
    ~Line() {
        // Before the line goes, so that it is not drawn again.
        ticker_ = {};
        erase();
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void show(const ProgressEvent& event) {
        const std::lock_guard lock(mutex_);
        // Of a total that nobody knows (0) only the start is no news.
        stands_ = event.total > 0 ? event.done < event.total : event.done > 0;
        if (!stands_) return erase();
        if (phase_ != event.phase || event.done == 0) {
            phase_ = event.phase;
            since_ = Clock::now();
        }
        done_ = event.done;
        total_ = event.total;
        told_ = Clock::now();
        draw();
        // Work that says nothing for long must not look as if it stood still.
        if (!ticker_.joinable()) ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
    }

  private:
    void tick(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            over_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
            if (!stop.stop_requested() && stands_) draw();
        }
    }
    void draw() {
        std::string text = bar_text({phase_, done_, total_}, utf8_, time());
        if (text == shown_) return;
        write_(std::string(erase_line) + text);
        shown_ = std::move(text);
    }
    BarTime time() const {
        BarTime time{.passed = seconds_since(since_)};
        if (total_ <= 0 || done_ <= 0) return time;
        const double told = std::chrono::duration<double>(told_ - since_).count();
        const double left = told * static_cast<double>(total_ - done_) / static_cast<double>(done_);
        // A step that takes longer than those before leaves nothing to say.
        if (const double now = left - seconds_since(told_); now > 0) time.left = now;
        return time;
    }
    void erase() {
        if (!std::exchange(shown_, {}).empty()) write_(erase_line);
    }

    std::function<void(std::string_view)> write_;
    bool utf8_;
    std::mutex mutex_;
    std::condition_variable_any over_;
    std::string shown_;
    std::string phase_;
    std::int64_t done_ = 0;
    std::int64_t total_ = 0;
    bool stands_ = false;
    Clock::time_point since_;  ///< of the phase
    Clock::time_point told_;   ///< of the last event
    std::jthread ticker_;      ///< the last: it uses the others
};

}  // namespace

std::string bar_text(const ProgressEvent& event, bool utf8, const BarTime& time) {
    const std::string_view phase = event.phase.substr(0, 16);
    if (event.total == 0) return fmt::format("{}  {}{}", phase, count_text(event.done), time_text(time));
    // One step says nothing until it is over.
    if (event.total == 1) return fmt::format("{}  ...{}", phase, time_text(time));
    constexpr std::int64_t width = 40;
    const double part = event.total > 0 ? static_cast<double>(event.done) / static_cast<double>(event.total) : 0;
    const auto filled = std::clamp<std::int64_t>(static_cast<std::int64_t>(part * width), 0, width);
    std::string bar;
    for (std::int64_t i = 0; i < width; ++i) {
        if (utf8) {
            bar += i < filled ? "█" : "░";
        } else {
            bar += i < filled ? '#' : '.';
        }
    }
    return fmt::format("{}  {}  {}/{}{}", phase, bar, event.done, event.total, time_text(time));
}

ProgressSink progress_bar(std::function<void(std::string_view)> write, bool utf8) {
    auto line = std::make_shared<Line>(std::move(write), utf8);
    return [line](const ProgressEvent& event) { line->show(event); };
}

}  // namespace couplet::cli
