#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/wire/message.hpp"
#include "couplet/wire/receiver.hpp"

/// The star over plain bytes, for whoever carries them: no socket, no thread. What travels is what the daemons send.
namespace couplet::wire {

/// Messages one after another, each with its lengths and its hash.
std::string pack(std::span<const Message> messages);
std::string pack(const Message& message);

/// Back again. Everything is checked as Receiver checks it, lengths before anything is read. Throws InputError
/// that blames `who`.
std::vector<Message> unpack(std::string_view bytes, const std::string& who, Limits limits = {});
/// The same for exactly one message.
Message unpack_one(std::string_view bytes, const std::string& who, Limits limits = {});

}  // namespace couplet::wire
