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
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"
#include "couplet/core/operations.hpp"

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
    OperationCount* count = current_count();
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure = nullptr;
    std::int64_t failed_at = tasks;
    std::mutex failure_mutex = {};
    // Of the pool, and changed under its mutex; seated is looked at without it.
    int open_seats = 0;
    std::atomic<int> seated{0};

    void drain() {
        const bool before = std::exchange(inside_parallel_body, true);
        const ShareStop of_the_caller(stop);
        const ShareCount for_the_caller(count);
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
        inside_parallel_body = before;
    }
};

/// Looks for a while before the caller goes to sleep: loops follow one another within microseconds, and waking a thread
/// takes fifty of them, several hundred on a virtual machine. After the first looks whoever else wants the core has it.
template <class Condition>
void look_for(const Condition& condition) {
    constexpr int looks = 2000;   // some 50 us
    constexpr int yields = 2000;  // some 500 us of an idle core
    for (int i = 0; i < looks + yields && !condition(); ++i) {
        if (i >= looks) ::sched_yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

/// Helpers that wait for loops, for as long as the process lives. Any number of loops run at once: each is drained by
/// its caller, so that it gets done whoever else comes, and by helpers that have nothing else to do.
class Pool {
  public:
    /// Whether a helper could still come to a loop inside a body.
    bool has_room() const { return active_ < thread_count(); }

    void run(Loop& loop, int helpers_wanted) {
        const bool nested = inside_parallel_body;  // then the caller counts already
        {
            const std::lock_guard lock(mutex_);
            active_ += nested ? 0 : 1;
            hire(nested ? thread_count() - 1 : helpers_wanted);
            loop.open_seats = helpers_wanted;
            open_seats_ += helpers_wanted;
            loops_.push_back(&loop);
        }
        wake_.notify_all();
        loop.drain();
        {
            const std::lock_guard lock(mutex_);
            open_seats_ -= std::exchange(loop.open_seats, 0);
            std::erase(loops_, &loop);
        }
        look_for([&loop] { return loop.seated == 0; });
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [&loop] { return loop.seated == 0; });
        if (!nested) leave();
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

    bool has_work() const { return open_seats_ > 0 && active_ < thread_count(); }

    /// Under the mutex: one thread less is at work, so that another may come.
    void leave() {
        --active_;
        if (open_seats_ > 0) wake_.notify_one();
    }

    /// Under the mutex, with an open seat somewhere: a seat in the loop that has fewest helpers.
    Loop* take_seat() {
        Loop* least = nullptr;
        for (Loop* loop : loops_) {
            if (loop->open_seats > 0 && (least == nullptr || loop->seated < least->seated)) least = loop;
        }
        --least->open_seats;
        --open_seats_;
        ++least->seated;
        ++active_;
        return least;
    }

    [[noreturn]] void serve() {
        std::unique_lock lock(mutex_, std::defer_lock);
        while (true) {
            look_for([this] { return has_work(); });
            lock.lock();
            wake_.wait(lock, [this] { return has_work(); });
            Loop* loop = take_seat();
            lock.unlock();
            loop->drain();
            lock.lock();
            if (--loop->seated == 0) finished_.notify_all();
            leave();
            lock.unlock();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable finished_;
    int helpers_ = 0;
    std::vector<Loop*> loops_;
    // Changed under the mutex; atomic because they are looked at without it.
    std::atomic<int> open_seats_{0};  ///< of all loops
    std::atomic<int> active_{0};      ///< threads that run bodies: callers and helpers
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
    if (threads <= 1 || (inside_parallel_body && !pool().has_room())) {
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
