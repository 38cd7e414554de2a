#include "couplet/core/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"

namespace couplet {
namespace {

int available_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1U, std::thread::hardware_concurrency());
}

std::atomic<int>& configured_count() {
    static std::atomic<int> count{available_cores()};
    return count;
}

thread_local bool inside_parallel_body = false;

/// One parallel loop: an index counter that caller and helpers draw from.
struct Loop {
    std::int64_t tasks;
    const std::function<void(std::int64_t)>& body;
    const std::stop_token* stop = current_stop();
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure = nullptr;
    std::int64_t failed_at = tasks;
    std::mutex failure_mutex = {};

    void drain() {
        inside_parallel_body = true;
        const ShareStop of_the_caller(stop);
        for (std::int64_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) {
            try {
                check_stop();
                body(i);
            } catch (...) {
                std::lock_guard lock(failure_mutex);
                // Indices are drawn in order, so those before this one are under way: the first to fail is the same
                // however many threads there are.
                if (i < failed_at) {
                    failure = std::current_exception();
                    failed_at = i;
                }
                next.store(tasks);
            }
        }
        inside_parallel_body = false;
    }
};

/// Looks for a while before the caller goes to sleep: loops follow one another within microseconds, and waking a thread
/// takes fifty.
template <class Condition>
void look_for(const Condition& condition) {
    constexpr int looks = 2000;  // some 50 us
    for (int i = 0; i < looks && !condition(); ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

/// Idle helpers that wait for a loop, for as long as the process lives. Loops of different callers take turns.
class Pool {
  public:
    void run(Loop& loop, int helpers_wanted) {
        std::lock_guard one_loop_at_a_time(loop_mutex_);
        {
            std::lock_guard lock(mutex_);
            hire(helpers_wanted);
            loop_ = &loop;
            open_seats_ = helpers_wanted;
        }
        wake_.notify_all();
        loop.drain();
        {
            std::lock_guard lock(mutex_);
            open_seats_ = 0;
        }
        look_for([this] { return seated_ == 0; });
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [this] { return seated_ == 0; });
        loop_ = nullptr;
    }

  private:
    /// Starts helpers until there are `count`. A system that refuses another thread costs speed, not the result.
    void hire(int count) {
        try {
            for (; helpers_ < count; ++helpers_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {
            return;
        }
    }

    [[noreturn]] void serve() {
        std::unique_lock lock(mutex_, std::defer_lock);
        while (true) {
            look_for([this] { return open_seats_ > 0; });
            lock.lock();
            wake_.wait(lock, [this] { return open_seats_ > 0; });
            --open_seats_;
            ++seated_;
            Loop* loop = loop_;
            lock.unlock();
            loop->drain();
            lock.lock();
            if (--seated_ == 0) finished_.notify_all();
            lock.unlock();
        }
    }

    std::mutex loop_mutex_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable finished_;
    int helpers_ = 0;
    Loop* loop_ = nullptr;
    // Changed under the mutex; atomic because they are looked at without it.
    std::atomic<int> open_seats_{0};
    std::atomic<int> seated_{0};
};

Pool* pool_of_this_process = nullptr;

/// The pool is never taken down: a loop may still be running in another thread while the process ends. A child of
/// fork() has none of its parent's threads, and the locks in whatever state they were: it gets a pool of its own.
Pool& pool() {
    static const bool made = [] {
        pool_of_this_process = new Pool;
        ::pthread_atfork(nullptr, nullptr, [] { pool_of_this_process = new Pool; });
        return true;
    }();
    (void)made;
    return *pool_of_this_process;
}

}  // namespace

int thread_count() noexcept { return configured_count().load(); }

void set_thread_count(int count) {
    if (count < 1 || count > 1024) {
        throw InputError(
            {"threads", std::to_string(count), "a number from 1 to 1024", "Leave it out to use every core."});
    }
    configured_count().store(count);
}

void parallel_for(std::int64_t tasks, const std::function<void(std::int64_t)>& body) {
    const auto threads = std::min<std::int64_t>(tasks, thread_count());
    if (threads <= 1 || inside_parallel_body) {
        for (std::int64_t i = 0; i < tasks; ++i) {
            check_stop();
            body(i);
        }
        return;
    }
    Loop loop{.tasks = tasks, .body = body};
    pool().run(loop, static_cast<int>(threads) - 1);
    if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace couplet
