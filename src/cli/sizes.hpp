#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet::cli {

/// "40" or "40x30": whole numbers of at least 1; nothing for empty text. Throws InputError that names `option`.
std::vector<Index> parse_sizes(const std::string& option, std::string_view text);

}  // namespace couplet::cli
