#pragma once

#include "couplet/privacy/secret.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// Hash of all that the clients of a job are told before its first sum, as it travels: whatever a welcome and a start
/// say, but for the client's own place. The same at the coordinator and at every client, unless one was told another
/// story.
Key job_print(const JobSpec& spec, const Start& start);

}  // namespace couplet::wire
