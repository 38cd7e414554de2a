#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/wire/receiver.hpp"

/// One target per message that a remote party can send. An input is the length of the head (two bytes, little endian),
/// the head, and the payload. The hash is made to fit, so that the fuzzer sees what is behind it.
namespace couplet::fuzz {

inline constexpr Index message_limit = 1 << 20;

inline int message(wire::Kind expected, const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(2);
    const std::size_t length = std::min<std::size_t>(data[0] + 256U * data[1], bytes.size());
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), length);
    const auto payload = bytes.subspan(length);
    try {
        wire::Receiver receiver("fuzz", {.max_payload_bytes = message_limit});
        const wire::Head promised = receiver.head(head);
        if (promised.kind != expected) return 0;
        const auto chunk = static_cast<std::size_t>(promised.chunk_bytes);
        wire::Digest digest;
        digest.add(std::as_bytes(std::span(head)));
        for (std::size_t first = 0; first < payload.size(); first += chunk) {
            const auto part = payload.subspan(first, std::min(chunk, payload.size() - first));
            receiver.chunk(part);
            digest.add(part);
        }
        receiver.tail(digest.finish());
        const wire::Message decoded = wire::assemble(head, payload, "fuzz");
        if (decoded.kind() != expected) throw std::logic_error("the kind is that of the head");
    } catch (const InputError&) {
        // The expected answer to bad bytes.
    }
    return 0;
}

#define COUPLET_WIRE_TARGET(kind) \
    inline int wire_##kind(const std::uint8_t* data, std::size_t size) { return message(wire::Kind::kind, data, size); }
COUPLET_WIRE_TARGET(join)
COUPLET_WIRE_TARGET(hello)
COUPLET_WIRE_TARGET(upload)
COUPLET_WIRE_TARGET(sum_reply)
COUPLET_WIRE_TARGET(report)
COUPLET_WIRE_TARGET(welcome)
COUPLET_WIRE_TARGET(start)
COUPLET_WIRE_TARGET(sum_request)
COUPLET_WIRE_TARGET(features)
COUPLET_WIRE_TARGET(bye)
COUPLET_WIRE_TARGET(refusal)
COUPLET_WIRE_TARGET(greeting)
COUPLET_WIRE_TARGET(beat)
COUPLET_WIRE_TARGET(peer_state)
COUPLET_WIRE_TARGET(peer_basis)
COUPLET_WIRE_TARGET(peer_merge)
COUPLET_WIRE_TARGET(bulletin)
COUPLET_WIRE_TARGET(secure_request)
COUPLET_WIRE_TARGET(secure_reply)
COUPLET_WIRE_TARGET(centring)
#undef COUPLET_WIRE_TARGET

}  // namespace couplet::fuzz
