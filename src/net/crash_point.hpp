#pragma once

namespace couplet::net {

/// Steps of the protocol at which COUPLET_CRASH_AT=<step> ends the process as kill -9 would, so that tests can show
/// what a restart makes of it. <step>:<n> means the n-th time. Does nothing when the variable is not set.
void crash_point(const char* step);

}  // namespace couplet::net
