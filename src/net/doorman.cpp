#include "doorman.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::net {
namespace {

// A client opens one stream and asks for the status now and then; a restart loop does so a few times a second.
constexpr double calls_per_second = 20;
constexpr double burst = calls_at_once;
constexpr std::size_t most_threads = 4096;
constexpr std::chrono::seconds first_bar{10};
constexpr std::chrono::seconds longest_bar{600};
constexpr std::chrono::hours forgiven_after{1};

}  // namespace

int server_threads(std::size_t parties) {
    // A party has one stream, and a second while it reconnects, beside those that are turned away.
    return static_cast<int>(std::min(most_threads, (calls_at_once + 2) * parties + 8));
}

void Doorman::let_in(const CertificateInfo& caller, Role role) const {
    const std::string who = fmt::format("{} {}", to_string(caller.identity.role), caller.identity.name);
    if (caller.identity.federation != self_.federation) {
        throw InputError({who, "a certificate of another federation", "one of this federation", ""});
    }
    if (caller.identity.role != role) {
        throw InputError({who, fmt::format("a certificate for the role {}", to_string(caller.identity.role)),
                          fmt::format("one for the role {}", to_string(role)), ""});
    }
    const auto revoked = load_revoked(revoked_);
    if (std::find(revoked.begin(), revoked.end(), caller.serial) == revoked.end()) return;
    throw InputError({who, "a certificate that was revoked", "a valid one",
                      fmt::format("Run: couplet provision --rotate {} -o KITS", caller.identity.name)});
}

bool Doorman::take(const std::string& key, Clock::time_point now) {
    const auto [at, is_new] = buckets_.try_emplace(key, Bucket{burst, now});
    Bucket& bucket = at->second;
    const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
    bucket.tokens = std::min(burst, bucket.tokens + seconds * calls_per_second);
    bucket.filled = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
}

void Doorman::limit_rate(const std::string& caller, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (take(caller, now)) return;
    throw InputError({caller, "more calls than anybody needs",
                      fmt::format("at most {} a second for long", calls_per_second), "Wait a little."});
}

Doorman::Place::~Place() {
    if (doorman_ == nullptr) return;
    const std::lock_guard lock(doorman_->mutex_);
    const auto at = doorman_->held_.find(key_);
    if (--at->second == 0) doorman_->held_.erase(at);
}

Doorman::Place Doorman::take_place(const std::string& caller) {
    const std::lock_guard lock(mutex_);
    int& held = held_[caller];
    if (held >= calls_held) return {};
    ++held;
    return {*this, caller};
}

bool Doorman::may_connect(const std::string& serial, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto barred = bars_.find(serial);
    if (barred != bars_.end() && now < barred->second.until) return false;
    return take("connections " + serial, now);
}

std::chrono::seconds Doorman::bar(const std::string& serial, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    Bar& bar = bars_[serial];
    // Calls that came before it was barred are still being answered.
    if (now < bar.until) return bar.length;
    const bool forgiven = bar.length.count() == 0 || now - bar.until > forgiven_after;
    bar.length = forgiven ? first_bar : std::min(longest_bar, 2 * bar.length);
    bar.until = now + bar.length;
    return bar.length;
}

}  // namespace couplet::net
