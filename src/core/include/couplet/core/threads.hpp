#pragma once

#include <cstdint>
#include <functional>

namespace couplet {

/// Threads used by parallel loops of the calling process; starts at the number of cores the process may run
/// on.
int thread_count() noexcept;

/// Sets thread_count(). Throws InputError unless 1 <= count <= 1024.
void set_thread_count(int count);

/// Runs body(0) ... body(tasks - 1), each exactly once, on up to thread_count() threads, and returns when all are done.
/// Order is unspecified: a body writes only what its index owns, so results do not depend on the thread count.
/// A parallel_for inside a body gets the threads that have nothing to do, so that four clients on eight cores use
/// eight; where there are none it runs on the calling thread alone. The first exception thrown by a body is rethrown
/// here after all started bodies have finished; bodies not started by then are not run.
void parallel_for(std::int64_t tasks, const std::function<void(std::int64_t)>& body);

}  // namespace couplet
