#pragma once

#include <string>

#include "couplet/core/error.hpp"

namespace couplet::net {

/// Where a refusal of the site's policy comes from.
inline constexpr const char* policy_name = "this site's policy";

/// What a coordinator hears of a client's refusal. Where only sums are seen (`masked`) it hears no figures of the
/// patients either, not even in a reason: who is to mend it reads them in the client's own log.
std::string words_for_coordinator(const InputError& refusal, bool masked);

}  // namespace couplet::net
