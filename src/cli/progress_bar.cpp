#include "progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "format.hpp"

namespace couplet::cli {
namespace {

constexpr std::string_view erase_line = "\r\x1b[K";

class Line {
  public:
    Line(std::function<void(std::string_view)> write, bool utf8) : write_(std::move(write)), utf8_(utf8) {}
    ~Line() { erase(); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void show(const ProgressEvent& event) {
        // Of a total that nobody knows (0) only the start is no news.
        if (event.total > 0 ? event.done >= event.total : event.done == 0) return erase();
        if (phase_ != event.phase || event.done == 0) {
            phase_ = event.phase;
            since_ = std::chrono::steady_clock::now();
        }
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - since_;
        std::string text = bar_text(event, utf8_, passed.count());
        if (text == shown_) return;
        write_(std::string(erase_line) + text);
        shown_ = std::move(text);
    }

  private:
    void erase() {
        if (!std::exchange(shown_, {}).empty()) write_(erase_line);
    }

    std::function<void(std::string_view)> write_;
    bool utf8_;
    std::string shown_;
    std::string phase_;
    std::chrono::steady_clock::time_point since_;
};

/// "  12 s, 30 s left" once the work takes long enough to ask.
std::string time_text(double part, double seconds) {
    if (seconds < 2) return "";
    if (!(part > 0)) return fmt::format("  {:.0f} s", seconds);
    return fmt::format("  {:.0f} s, {:.0f} s left", seconds, seconds * (1 - part) / part);
}

}  // namespace

std::string bar_text(const ProgressEvent& event, bool utf8, double seconds) {
    const std::string_view phase = event.phase.substr(0, 16);
    if (event.total == 0) return fmt::format("{}  {}{}", phase, count_text(event.done), time_text(0, seconds));
    // One step says nothing until it is over.
    if (event.total == 1) return fmt::format("{}  ...", phase);
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
    return fmt::format("{}  {}  {}/{}{}", phase, bar, event.done, event.total, time_text(part, seconds));
}

ProgressSink progress_bar(std::function<void(std::string_view)> write, bool utf8) {
    auto line = std::make_shared<Line>(std::move(write), utf8);
    return [line](const ProgressEvent& event) { line->show(event); };
}

}  // namespace couplet::cli
