#pragma once

#include <string>

#include "session.hpp"

namespace couplet::cli {

/// Means of counts, as reports have them: a whole number wherever it is one.
Json number(double count);
/// "84,750", to the nearest.
std::string numbers_text(double count);
/// "17.8 KiB", to the nearest byte.
std::string size_text(double bytes);

}  // namespace couplet::cli
