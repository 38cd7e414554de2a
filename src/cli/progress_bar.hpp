#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "couplet/core/progress.hpp"

namespace couplet::cli {

/// In seconds.
struct BarTime {
    double passed = 0;
    std::optional<double> left = {};  ///< nothing: nobody can tell
};

/// "decompose  ####....  1/2", with blocks when `utf8`, and with the time that passed and that is left when it took
/// two seconds or more. Fits a line of 80 columns where numbers are not absurd.
std::string bar_text(const ProgressEvent& event, bool utf8, const BarTime& time = {});

/// A sink that keeps one line up to date through `write`, its time also while nothing is reported: `write` is then
/// called from another thread, never from two at once. The line is removed when the work is done, and when the last
/// copy of the sink goes, so that nothing stays before a result or a message.
ProgressSink progress_bar(std::function<void(std::string_view)> write, bool utf8);

}  // namespace couplet::cli
