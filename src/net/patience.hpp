#pragma once

#include <chrono>
#include <optional>

#include "couplet/wire/message.hpp"

namespace couplet::net {

/// How long a client waits for its coordinator. Nothing that the coordinator does makes it wait longer than its
/// deadline; what brings the job forward begins the wait anew.
class Patience {
  public:
    using Clock = std::chrono::steady_clock;

    /// Without a deadline it waits for ever.
    Patience(std::optional<std::chrono::milliseconds> deadline, Clock::time_point now)
        : deadline_(deadline), since_(now) {}

    /// How long it may still wait, a moment at least; nothing: for ever.
    std::optional<std::chrono::milliseconds> left(Clock::time_point now) const;
    bool is_over(Clock::time_point now) const { return deadline_ && waited(now) >= *deadline_; }
    Clock::duration waited(Clock::time_point now) const { return now - since_; }

    /// The job has moved on, by the client's own work: computing takes as long as it takes.
    void work_done(Clock::time_point now) { since_ = now; }
    /// Whether a message brings the job forward. One that says what was said before does not: a coordinator that fails
    /// and comes back says it every time. Nor does anything of the next of many jobs, none of which is done, or of the
    /// next of many attempts: nobody begins so often but to keep somebody waiting. `begins`: it is the start of an
    /// attempt, whatever its number says. Nor do steps without end.
    bool hear(const wire::Route& route, Clock::time_point now, bool begins = false);
    /// The newest job fills missing entries: each time it does is an attempt of its own, at most so many.
    void expect_iterations(Index most) noexcept { iterations_ = most; }
    /// Whether the answer to a question brings it forward, whatever it took to compute: by the same rules.
    bool answer(const wire::Route& route, Clock::time_point now);
    /// Whether so many jobs or attempts were begun that another is no progress, nor the work that it asks for.
    bool is_led_on() const noexcept;

  private:
    bool is_progress(const wire::Route& route, Clock::time_point now);

    std::optional<std::chrono::milliseconds> deadline_;
    Clock::time_point since_;
    std::optional<wire::Route> newest_;
    std::optional<wire::Route> answered_;
    int jobs_ = 0;
    Index attempts_ = 0;    ///< of the job that is newest
    Index iterations_ = 0;  ///< of them, that are no restarts
};

}  // namespace couplet::net
