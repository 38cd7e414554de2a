#pragma once

#include "embedded.hpp"

namespace couplet::cli {

/// `couplet audit` in the process of another program: what --json would print. Throws as run_embedded() does.
Json run_audit(EmbeddedCall call);

}  // namespace couplet::cli
