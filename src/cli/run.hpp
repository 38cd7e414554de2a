#pragma once

namespace couplet::cli {

/// The whole command line. Returns the exit status: 0 done, 1 failed at run time, 2 bad usage or bad input.
int run(int argc, const char* const* argv);

}  // namespace couplet::cli
