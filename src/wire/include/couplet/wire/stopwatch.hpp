#pragma once

#include "couplet/core/stopwatch.hpp"

namespace couplet::wire {

using couplet::Stopwatch;

}  // namespace couplet::wire
