#include "phase_lines.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "format.hpp"
#include "stopwatch.hpp"

namespace couplet::cli {

namespace {

/// "greeting of 4 clients".
std::string in_words(const ProgressEvent& event) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> phrases{
        {{"hello", "greeting of"}, {"clients", "work of"}, {"refit", "fit of"}, {"send", "messages of"}}};
    for (const auto& [phase, words] : phrases) {
        if (event.phase == phase)
            return fmt::format("{} {} {}", words, count_text(event.total), event.total == 1 ? "client" : "clients");
    }
    return std::string(event.phase) + (event.total > 1 ? fmt::format(" of {}", count_text(event.total)) : "");
}

}  // namespace

ProgressSink phase_lines(const Session& session) {
    auto watch = std::make_shared<Stopwatch>();
    return [&session, bar = session.progress(), watch](const ProgressEvent& event) {
        if (event.done == 0) watch->lap();
        report(bar, event.phase, event.done, event.total);
        if (event.done < event.total) return;
        session.note(fmt::format("{} done in {}", in_words(event), seconds_text(watch->lap())));
    };
}

}  // namespace couplet::cli
