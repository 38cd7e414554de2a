#include "couplet/core/interrupt.hpp"

#include <utility>

namespace couplet {
namespace {

thread_local const std::stop_token* innermost = nullptr;

}  // namespace

Stopped::Stopped() : RunError({"computation", "stopped on request", "", ""}) {}

StopScope::StopScope(std::stop_token token) noexcept
    : token_(std::move(token)), before_(std::exchange(innermost, &token_)) {}

StopScope::~StopScope() { innermost = before_; }

void check_stop() {
    if (innermost != nullptr && innermost->stop_requested()) throw Stopped();
}

const std::stop_token* current_stop() noexcept { return innermost; }

ShareStop::ShareStop(const std::stop_token* token) noexcept : before_(std::exchange(innermost, token)) {}

ShareStop::~ShareStop() { innermost = before_; }

}  // namespace couplet
