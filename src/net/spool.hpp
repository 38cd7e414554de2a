#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "couplet/io/atomic_file.hpp"
#include "couplet/wire/receiver.hpp"

namespace couplet::net {

/// Checks a message as it arrives and, if told where, puts it on disk. It exists there completely, checked and durable,
/// or not at all.
class SpoolWriter {
  public:
    /// `who` is blamed for what is wrong.
    SpoolWriter(std::string who, wire::Limits limits) : receiver_(std::move(who), limits) {}

    /// As in wire::Receiver, which checks every part.
    const wire::Head& head(std::string_view bytes);
    /// From here on the message is kept; without, it is only checked.
    void open(const std::filesystem::path& path);
    void chunk(std::span<const std::byte> bytes);
    /// Makes it durable.
    void tail(std::span<const std::byte> hash);

  private:
    wire::Receiver receiver_;
    std::string head_;
    std::optional<AtomicFile> file_;
};

/// Reads a spooled message back and checks it again: disks forget too. Throws InputError that blames `who`.
wire::Message load_message(const std::filesystem::path& path, const std::string& who);

/// Says that what was spooled at `where` is no message of `who` that can be used.
[[noreturn]] void refuse_spooled(const std::string& where, const std::string& found, const std::string& who);

/// The body of a message that must be of one kind: files in a spool may have been exchanged. Throws InputError.
template <class Body>
Body& body_as(wire::Message& message, const std::string& where, const std::string& who) {
    auto* body = std::get_if<Body>(&message.body);
    if (body == nullptr) refuse_spooled(where, fmt::format("{}", wire::to_string(message.kind())), who);
    return *body;
}

/// load_message() for one that must be of one kind.
template <class Body>
Body load_body(const std::filesystem::path& path, const std::string& who) {
    wire::Message message = load_message(path, who);
    return std::move(body_as<Body>(message, path.string(), who));
}

/// Puts a message of our own there.
void save_message(const std::filesystem::path& path, const wire::Message& message);

}  // namespace couplet::net
