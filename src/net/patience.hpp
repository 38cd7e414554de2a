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
    /// and comes back says it every time. Nor does the next of many jobs, none of which is done: nobody begins so many
    /// but to keep somebody waiting.
    bool hear(const wire::Route& route, Clock::time_point now);
    /// Whether so many jobs were begun that another is no progress.
    bool is_led_on() const noexcept;

  private:
    std::optional<std::chrono::milliseconds> deadline_;
    Clock::time_point since_;
    std::optional<wire::Route> newest_;
    int jobs_ = 0;
};

}  // namespace couplet::net
