#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/progress.hpp"

namespace couplet::python {

namespace nb = nanobind;

/// What a computation may say while it runs. Both may be called from its own thread; Python hears of it elsewhere.
struct Voice {
    ProgressSink progress = {};
    std::function<void(std::string_view)> note = {};
};

/// Runs `work` in a thread of its own while the calling one, without the GIL, watches: a signal that Python answers
/// with an exception (Ctrl-C), or an exception out of the watcher, asks the work to stop and is raised within half a
/// second. Work that cannot stop so soon (one long call of LAPACK) is left to end by itself; `alive` is what it reads,
/// and is kept until then. `watcher` is a Python callable that makes an object with progress(phase, done, total),
/// note(text) and close(). Call with the GIL held.
void attend(const nb::object& watcher, std::vector<nb::object> alive, std::function<void(const Voice&)> work);

/// The same for work with a result. What `work` uses it must own, or `alive` must.
template <class F>
auto attended(const nb::object& watcher, std::vector<nb::object> alive, F work) {
    using Result = decltype(work(std::declval<const Voice&>()));
    auto result = std::make_shared<std::optional<Result>>();
    auto shared = std::make_shared<F>(std::move(work));
    attend(watcher, std::move(alive), [result, shared](const Voice& voice) { result->emplace((*shared)(voice)); });
    return std::move(**result);
}

/// For the end of the interpreter: stops what other threads compute and waits for it, and for what was left behind by
/// an exception; their threads end. From now on only this thread may attend(). Another Ctrl-C ends the process.
void end_all_work();

}  // namespace couplet::python
