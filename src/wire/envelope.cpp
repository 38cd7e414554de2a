#include "couplet/wire/envelope.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/wire/encoder.hpp"

namespace couplet::wire {
namespace {

// Before every message: bytes of its head and of its payload, little endian.
struct Lengths {
    std::uint64_t head = 0;
    std::uint64_t payload = 0;
};
static_assert(std::endian::native == std::endian::little, "lengths travel little endian");
static_assert(sizeof(Lengths) == 16);

// No question needs more than a welcome, a start, features and what is asked; a merger's has a group's messages.
constexpr std::size_t most_messages = 4096;

void append(std::string& bytes, std::span<const std::byte> part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
}

void append(std::string& bytes, const Message& message) {
    Encoder encoder(message);
    const Lengths lengths{encoder.head().size(), static_cast<std::uint64_t>(encoder.payload_bytes())};
    append(bytes, std::as_bytes(std::span(&lengths, 1)));
    bytes += encoder.head();
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) append(bytes, chunk);
    append(bytes, encoder.tail());
}

/// Takes so many bytes from the front.
std::string_view take(std::string_view& bytes, std::uint64_t count, const std::string& who) {
    if (count > bytes.size()) {
        throw InputError({who, "a message that ends early", "all of its bytes", ""});
    }
    const std::string_view part = bytes.substr(0, static_cast<std::size_t>(count));
    bytes.remove_prefix(static_cast<std::size_t>(count));
    return part;
}

Message unpack_first(std::string_view& bytes, const std::string& who, const Limits& limits) {
    Lengths lengths;
    std::memcpy(&lengths, take(bytes, sizeof(lengths), who).data(), sizeof(lengths));
    const std::string_view head = take(bytes, lengths.head, who);
    Receiver receiver(who, limits);
    const auto chunk = static_cast<std::size_t>(receiver.head(head).chunk_bytes);
    const std::string_view payload = take(bytes, lengths.payload, who);
    const auto numbers = std::as_bytes(std::span(payload));
    for (std::size_t first = 0; first < numbers.size(); first += chunk) {
        receiver.chunk(numbers.subspan(first, std::min(chunk, numbers.size() - first)));
    }
    receiver.tail(std::as_bytes(std::span(take(bytes, hash_bytes, who))));
    return assemble(head, numbers, who);
}

}  // namespace

std::string pack(std::span<const Message> messages) {
    std::string bytes;
    for (const Message& message : messages) append(bytes, message);
    return bytes;
}

std::string pack(const Message& message) { return pack(std::span(&message, 1)); }

std::vector<Message> unpack(std::string_view bytes, const std::string& who, Limits limits) {
    std::vector<Message> messages;
    while (!bytes.empty()) {
        if (messages.size() == most_messages) {
            throw InputError({who, "more than " + std::to_string(most_messages) + " messages at once", "fewer", ""});
        }
        messages.push_back(unpack_first(bytes, who, limits));
    }
    return messages;
}

Message unpack_one(std::string_view bytes, const std::string& who, Limits limits) {
    std::vector<Message> messages = unpack(bytes, who, limits);
    if (messages.size() != 1) {
        throw InputError({who, std::to_string(messages.size()) + " messages", "one", ""});
    }
    return std::move(messages.front());
}

}  // namespace couplet::wire
