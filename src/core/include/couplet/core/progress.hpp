#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace couplet {

/// One report from a long computation: `done` of `total` units of `phase`.
struct ProgressEvent {
    std::string_view phase;
    std::int64_t done = 0;
    std::int64_t total = 0;
};

/// Receives progress; may be empty. Called from the thread that started the work, never concurrently.
using ProgressSink = std::function<void(const ProgressEvent&)>;

/// Calls the sink if there is one.
void report(const ProgressSink& sink, std::string_view phase, std::int64_t done, std::int64_t total);

}  // namespace couplet
