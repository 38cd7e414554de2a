#pragma once

#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet::net {

/// Names of these places on the roster, in their order.
std::vector<std::string> names_of(const std::vector<std::string>& roster, const std::vector<Index>& places);
/// The same in words.
std::string list_of(const std::vector<std::string>& roster, const std::vector<Index>& places);

}  // namespace couplet::net
