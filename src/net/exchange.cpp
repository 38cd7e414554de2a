#include "exchange.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "audit_trail.hpp"
#include "couplet/core/error.hpp"
#include "crash_point.hpp"
#include "federation.pb.h"

namespace couplet::net {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Feeds the parts of one message to `sink`, which has head(), chunk() and tail().
template <class Sink>
Passed receive_into(FrameStream& stream, const std::string& who, Sink& sink) {
    v1::Frame frame;
    double bytes = 0;
    Sha256 hash;
    for (bool complete = false; !complete;) {
        if (!stream.read(frame)) throw Disconnected{};
        bytes += static_cast<double>(frame.ByteSizeLong());
        switch (frame.part_case()) {
            case v1::Frame::kHead:
                sink.head(frame.head());
                hash.add(frame.head());
                break;
            case v1::Frame::kChunk:
                sink.chunk(bytes_of(frame.chunk()));
                hash.add(frame.chunk());
                break;
            case v1::Frame::kTail:
                sink.tail(bytes_of(frame.tail()));
                complete = true;
                break;
            case v1::Frame::PART_NOT_SET:
                throw InputError({who, "an empty frame", "a part of a message", ""});
        }
    }
    return {bytes, hash.finish()};
}

struct FileSink {
    SpoolWriter spool;
    const OnHead& on_head;
    void head(const std::string& bytes) {
        if (const auto path = on_head(spool.head(bytes))) spool.open(*path);
    }
    void chunk(std::span<const std::byte> bytes) { spool.chunk(bytes); }
    void tail(std::span<const std::byte> hash) { spool.tail(hash); }
};

struct MemorySink {
    wire::Receiver receiver;
    std::string first = {};
    std::vector<std::byte> payload = {};
    void head(const std::string& bytes) {
        receiver.head(bytes);
        first = bytes;
    }
    void chunk(std::span<const std::byte> bytes) {
        receiver.chunk(bytes);
        payload.insert(payload.end(), bytes.begin(), bytes.end());
    }
    void tail(std::span<const std::byte> hash) { receiver.tail(hash); }
};

}  // namespace

Passed send_message(FrameStream& stream, const wire::Message& message) {
    wire::Encoder encoder(message);
    v1::Frame frame;
    double bytes = 0;
    Sha256 sum;
    sum.add(encoder.head());
    const auto send = [&] {
        bytes += static_cast<double>(frame.ByteSizeLong());
        if (!stream.write(frame)) throw Disconnected{};
    };
    frame.set_head(encoder.head());
    send();
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) {
        frame.set_chunk(chunk.data(), chunk.size());
        sum.add(chunk);
        send();
        crash_point("chunk-sent");
    }
    const wire::Hash hash = encoder.tail();
    frame.set_tail(hash.data(), hash.size());
    send();
    return {bytes, sum.finish()};
}

Passed receive_to_file(FrameStream& stream, const std::string& who, wire::Limits limits, const OnHead& on_head) {
    FileSink sink{SpoolWriter(who, limits), on_head};
    return receive_into(stream, who, sink);
}

Received receive_message(FrameStream& stream, const std::string& who, wire::Limits limits) {
    MemorySink sink{wire::Receiver(who, limits)};
    Passed passed = receive_into(stream, who, sink);
    return {wire::assemble(sink.first, sink.payload, who), passed.bytes, std::move(passed.hash)};
}

}  // namespace couplet::net
