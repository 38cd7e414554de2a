#include "phase_lines.hpp"

#include <fmt/format.h>

#include <memory>

#include "format.hpp"
#include "stopwatch.hpp"

namespace couplet::cli {

ProgressSink phase_lines(const Session& session) {
    auto watch = std::make_shared<Stopwatch>();
    return [&session, bar = session.progress(), watch](const ProgressEvent& event) {
        if (event.done == 0) watch->lap();
        report(bar, event.phase, event.done, event.total);
        if (event.done < event.total) return;
        const std::string count = event.total > 1 ? fmt::format(" of {}", count_text(event.total)) : "";
        session.note(fmt::format("{}{} done in {}", event.phase, count, seconds_text(watch->lap())));
    };
}

}  // namespace couplet::cli
