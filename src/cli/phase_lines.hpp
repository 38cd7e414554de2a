#pragma once

#include "couplet/core/progress.hpp"
#include "session.hpp"

namespace couplet::cli {

/// One line on stderr for every phase that ends, with its time; while it lasts a bar where stderr is a terminal. Silent
/// with --quiet. The session must outlive the sink.
ProgressSink phase_lines(const Session& session);

}  // namespace couplet::cli
