#include "link_ledger.hpp"

#include <algorithm>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

[[noreturn]] void refuse(std::uint64_t received, std::uint64_t sent) {
    throw InputError({"peer", std::to_string(received) + " messages that it says have arrived",
                      "at most the " + std::to_string(sent) + " that were sent", ""});
}

}  // namespace

bool LinkLedger::begin(const wire::Greeting& theirs) {
    if (theirs.incarnation != process_) {
        process_ = theirs.incarnation;
        waiting_.clear();
        sent_ = 0;
        acknowledged_ = 0;
        received_ = 0;
        return true;
    }
    // One that knows another process of this end has nothing of this one.
    const std::uint64_t known = theirs.answers == own_ ? theirs.received : 0;
    if (known < acknowledged_ || known > acknowledged_ + waiting_.size()) {
        refuse(known, acknowledged_ + waiting_.size());
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(known - acknowledged_));
    acknowledged_ = known;
    sent_ = 0;
    return false;
}

std::shared_ptr<const wire::Message> LinkLedger::next() { return has_next() ? waiting_[sent_++] : nullptr; }

void LinkLedger::acknowledge(std::uint64_t received) {
    if (received > acknowledged_ + sent_) refuse(received, acknowledged_ + sent_);
    while (acknowledged_ < received) {
        waiting_.pop_front();
        --sent_;
        ++acknowledged_;
    }
}

bool LinkLedger::has_bulletin() const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [](const auto& message) { return message->kind() == wire::Kind::bulletin; });
}

}  // namespace couplet::net
