#pragma once

#include <functional>
#include <optional>
#include <string>

#include "couplet/wire/encoder.hpp"
#include "couplet/wire/receiver.hpp"
#include "spool.hpp"

namespace couplet::v1 {
class Frame;
}

namespace couplet::net {

/// Frames both ways, over a connection or in a test.
class FrameStream {
  public:
    virtual ~FrameStream() = default;
    /// Both return false when the other side is gone.
    virtual bool write(const v1::Frame& frame) = 0;
    virtual bool read(v1::Frame& frame) = 0;
};

/// The connection is gone; trying again may help.
struct Disconnected {};

/// What has passed over a stream.
struct Passed {
    double bytes = 0;  ///< of the frames
    std::string hash;  ///< SHA-256 of head and payload, the same at both ends
};

/// Sends one message. Throws Disconnected.
Passed send_message(FrameStream& stream, const wire::Message& message);

/// What is done between the head and the first number of a message that arrives.
using OnHead = std::function<std::optional<std::filesystem::path>(const wire::Head&)>;

/// Receives one message without keeping its numbers in memory: where `on_head` says, they go to a file. Throws
/// Disconnected, or InputError that blames `who`.
Passed receive_to_file(FrameStream& stream, const std::string& who, wire::Limits limits, const OnHead& on_head);

struct Received {
    wire::Message message;
    double bytes = 0;
    std::string hash;
};
/// Receives one message into memory, which grows only as numbers arrive.
Received receive_message(FrameStream& stream, const std::string& who, wire::Limits limits);

}  // namespace couplet::net
