#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace couplet::wire {

/// Two digits for every byte, in lower case.
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace couplet::wire
