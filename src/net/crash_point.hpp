#pragma once

namespace couplet::net {

/// Steps of the protocol at which COUPLET_CRASH_AT=<step> ends the process as kill -9 would, so that tests can show
/// what a restart makes of it; COUPLET_STALL_AT=<step> stops the thread there for ever, as a long computation would.
/// <step>:<n> means the n-th time. Does nothing when neither variable is set.
void crash_point(const char* step);

}  // namespace couplet::net
