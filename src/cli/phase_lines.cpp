#include "phase_lines.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "couplet/core/stopwatch.hpp"
#include "format.hpp"

namespace couplet::cli {

namespace {

/// What a phase is for whoever waits: "reading".
std::string_view in_words(std::string_view phase) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
        {{"hello", "reading"}, {"clients", "computing"}, {"refit", "fitting"}, {"send", "sending"}}};
    for (const auto& [name, word] : words) {
        if (phase == name) return word;
    }
    return phase;
}

/// "computing, 4 clients, took 2.5 s".
std::string line_text(std::string_view word, const ProgressEvent& event, double seconds) {
    const bool of_clients = word != event.phase;
    const std::string many =
        of_clients ? fmt::format(", {} {},", count_text(event.total), event.total == 1 ? "client" : "clients") : "";
    return fmt::format("{}{} took {}", word, many, seconds_text(seconds));
}

}  // namespace

ProgressSink phase_lines(const Session& session, double least_seconds) {
    auto watch = std::make_shared<Stopwatch>();
    return [&session, least_seconds, bar = session.progress(), watch](const ProgressEvent& event) {
        if (event.done == 0) watch->lap();
        const std::string_view word = in_words(event.phase);
        report(bar, word, event.done, event.total);
        if (event.done < event.total) return;
        const double seconds = watch->lap();
        if (seconds >= least_seconds) session.note(line_text(word, event, seconds));
    };
}

}  // namespace couplet::cli
