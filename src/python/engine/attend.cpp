#include "attend.hpp"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "couplet/core/interrupt.hpp"
#include "free_gil.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

using namespace std::chrono_literals;

/// Python looks after its signals this often.
constexpr auto glance = 50ms;
/// How long a computation that was asked to stop is waited for.
constexpr auto patience = 400ms;

struct Report {
    std::string phase;
    std::int64_t done = 0;
    std::int64_t total = 0;
};

/// One computation, shared by the thread that runs it and the one that watches. Holds nothing of Python's: it may end
/// where nobody has the GIL.
class Job {
  public:
    explicit Job(std::function<void(const Voice&)> work) : work_(std::move(work)) {}

    void run() {
        try {
            const StopScope scope(stop_.get_token());
            work_({.progress = [this](const ProgressEvent& event) { take(event); },
                   .note = [this](std::string_view text) { take(text); }});
        } catch (...) {
            failure_ = std::current_exception();
        }
        work_ = {};
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }

    void request_stop() { stop_.request_stop(); }
    /// True when it has ended, after at most `time`.
    bool wait(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return done_; });
    }
    std::exception_ptr failure() const { return failure_; }
    std::deque<Report> reports() {
        const std::lock_guard lock(mutex_);
        return std::exchange(reports_, {});
    }
    std::deque<std::string> notes() {
        const std::lock_guard lock(mutex_);
        return std::exchange(notes_, {});
    }

  private:
    void take(const ProgressEvent& event) {
        const std::lock_guard lock(mutex_);
        // Only where a phase stands now is worth telling; where it ended always is.
        if (!reports_.empty() && reports_.back().phase == event.phase && reports_.back().done < reports_.back().total) {
            reports_.pop_back();
        }
        reports_.push_back({std::string(event.phase), event.done, event.total});
    }
    void take(std::string_view text) {
        const std::lock_guard lock(mutex_);
        notes_.emplace_back(text);
    }

    std::function<void(const Voice&)> work_;
    std::stop_source stop_;
    std::exception_ptr failure_ = nullptr;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    std::deque<Report> reports_;
    std::deque<std::string> notes_;
};

/// A job and the process that runs it: a child of fork() has the entry, but not the thread, whose locks may be held.
struct Entry {
    std::shared_ptr<Job> job;
    std::vector<nb::object> alive = {};  ///< what the job reads
    pid_t process = ::getpid();

    bool is_here() const { return process == ::getpid(); }
};

/// What goes on in this process. Changed with the GIL held.
struct Work {
    std::vector<Entry> attended = {};     ///< somebody waits for it
    std::vector<Entry> left_behind = {};  ///< nobody does any more
    bool ending = false;                  ///< the interpreter is; only the thread that ends it may start anything
    unsigned long last_thread = 0;        ///< that one
};

/// Never destroyed: the interpreter may be gone by then.
Work& work() {
    static auto* const all = new Work;
    return *all;
}

void forget_what_ended() {
    // What it held is given back at the end, when the list is whole: that may run any Python, which may come back here.
    std::vector<Entry> ended;
    auto& all = work().left_behind;
    for (std::size_t i = 0; i < all.size();) {
        if (!all[i].is_here() || !all[i].job->wait(0ms)) {
            ++i;
            continue;
        }
        ended.push_back(std::move(all[i]));
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// A job is in the list of what is attended while this lives.
class Listed {
  public:
    explicit Listed(std::shared_ptr<Job> job) : job_(std::move(job)) { work().attended.push_back({.job = job_}); }
    ~Listed() {
        std::erase_if(work().attended, [this](const Entry& entry) { return entry.job == job_; });
    }
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

  private:
    std::shared_ptr<Job> job_;
};

/// Threads of the interpreter that is ending end too, without a word: so threading takes SystemExit.
void refuse_at_the_end() {
    if (!work().ending || PyThread_get_thread_ident() == work().last_thread) return;
    PyErr_SetNone(PyExc_SystemExit);
    throw nb::python_error();
}

/// The Python object that shows what a job says; made when there is something to show.
class Watcher {
  public:
    explicit Watcher(nb::object make) : make_(std::move(make)) {}

    void tell(Job& job) {
        const auto reports = job.reports();
        const auto notes = job.notes();
        if (reports.empty() && notes.empty()) return;
        if (!watcher_.is_valid()) watcher_ = make_();
        for (const auto& note : notes) watcher_.attr("note")(to_text(note));
        for (const auto& report : reports) {
            watcher_.attr("progress")(to_text(report.phase), report.done, report.total);
        }
    }
    void close() {
        if (watcher_.is_valid()) watcher_.attr("close")();
    }

  private:
    nb::object make_;
    nb::object watcher_;
};

bool wait_without_gil(Job& job, std::chrono::milliseconds time) {
    const FreeGil free;
    return job.wait(time);
}

/// In a thread of its own, or here where the system gives no more threads.
void start(const std::shared_ptr<Job>& job) {
    try {
        std::thread([job] { job->run(); }).detach();
    } catch (const std::system_error&) {
        const FreeGil free;
        job->run();
    }
}

/// Raises what Python wants to raise now.
void serve(Job& job, Watcher& watcher) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    watcher.tell(job);
}

}  // namespace

void attend(const nb::object& make_watcher, std::vector<nb::object> alive,
            std::function<void(const Voice&)> work_to_do) {
    refuse_at_the_end();
    forget_what_ended();
    auto job = std::make_shared<Job>(std::move(work_to_do));
    const Listed listed(job);
    Watcher watcher(make_watcher);
    try {
        start(job);
        while (!wait_without_gil(*job, glance)) serve(*job, watcher);
        refuse_at_the_end();
        watcher.tell(*job);
        watcher.close();
    } catch (nb::python_error&) {
        job->request_stop();
        if (!wait_without_gil(*job, patience)) work().left_behind.push_back({.job = job, .alive = std::move(alive)});
        try {
            watcher.close();
        } catch (nb::python_error&) {  // the first error is the one to raise
        }
        throw;
    }
    if (job->failure()) std::rethrow_exception(job->failure());
}

void end_all_work() {
    work().ending = true;
    work().last_thread = PyThread_get_thread_ident();
    // Taken out first: while this waits without the GIL, other threads may leave more behind.
    std::vector<Entry> all = std::exchange(work().left_behind, {});
    for (const Entry& entry : work().attended) all.push_back({.job = entry.job, .process = entry.process});
    for (const Entry& entry : all) {
        if (entry.is_here()) entry.job->request_stop();
    }
    for (const Entry& entry : all) {
        while (entry.is_here() && !wait_without_gil(*entry.job, glance)) {
            // The user does not want to wait. Libraries must not be taken down under the work: end at once.
            if (PyErr_CheckSignals() != 0) ::_exit(128 + SIGINT);
        }
    }
}

}  // namespace couplet::python
