#pragma once

#include "couplet/core/progress.hpp"
#include "session.hpp"

namespace couplet::cli {

/// One line on stderr for every phase that ends and that somebody waited for, with its time; while it lasts a bar where
/// stderr is a terminal. Silent with --quiet. The session must outlive the sink.
ProgressSink phase_lines(const Session& session, double least_seconds = 0.5);

}  // namespace couplet::cli
