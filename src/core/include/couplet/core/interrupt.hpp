#pragma once

#include <stop_token>

#include "couplet/core/error.hpp"

namespace couplet {

/// Ends a computation whose caller asked it to stop; nothing it would have returned exists.
class Stopped : public RunError {
  public:
    Stopped();
};

/// While it lives, what this thread computes ends with Stopped soon after the token is asked to stop: parallel loops,
/// and the loops inside their bodies on whichever thread these run, look at it before every body. A single call of BLAS
/// or LAPACK is finished first. Scopes nest; the inner one counts.
///
///     std::stop_source source;                          // whoever holds it may call source.request_stop()
///     const StopScope scope(source.get_token());
///     auto result = tt_svd<double>(x, {.eps = 0.01});   // throws Stopped then
class StopScope {
  public:
    explicit StopScope(std::stop_token token) noexcept;
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

  private:
    std::stop_token token_;
    const std::stop_token* before_;
};

/// Throws Stopped when this thread's computation was asked to stop; costs next to nothing. For long loops that contain
/// no parallel one.
void check_stop();

/// The token of this thread's innermost scope, null outside of every scope. It lives as long as the scope: whoever
/// hands work to another thread and waits for it passes the token on with ShareStop.
const std::stop_token* current_stop() noexcept;

/// Lends a scope of one thread to another that works for it.
class ShareStop {
  public:
    explicit ShareStop(const std::stop_token* token) noexcept;
    ~ShareStop();
    ShareStop(const ShareStop&) = delete;
    ShareStop& operator=(const ShareStop&) = delete;

  private:
    const std::stop_token* before_;
};

}  // namespace couplet
