#include "couplet/net/backoff.hpp"

#include <algorithm>

namespace couplet::net {

Backoff::Duration Backoff::next() {
    const auto whole = static_cast<double>(next_.count());
    next_ = std::min(2 * next_, most_);
    return Duration(static_cast<Duration::rep>(whole * (0.5 + 0.5 * random_.uniform())));
}

}  // namespace couplet::net
