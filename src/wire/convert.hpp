#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/wire/message.hpp"

/// The one place that knows both protobuf and ctt.
namespace couplet::wire {

/// The arrays of numbers that a message carries, in the order they travel.
std::vector<std::span<const std::byte>> payload_of(const Message& message);

std::string serialise_head(const Message& message, Index payload_bytes, Index chunk_bytes);

/// Parses a head and checks that it promises something possible: known kind, sizes whose products fit, ranks that a
/// train can have, and exactly the payload that they need. Throws InputError that blames `who`.
Head parse_head(std::string_view bytes, const std::string& who);

void require_chunk_bytes(Index chunk_bytes, const std::string& who);

}  // namespace couplet::wire
