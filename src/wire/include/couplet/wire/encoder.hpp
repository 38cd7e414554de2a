#pragma once

#include <span>
#include <string>
#include <vector>

#include "couplet/wire/digest.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// A message cut into the parts that travel: head, chunks, tail. Numbers are not copied, except where a chunk spans two
/// arrays.
class Encoder {
  public:
    /// The message must outlive the encoder. Throws InputError for a chunk size that is not accepted.
    explicit Encoder(const Message& message, Index chunk_bytes = default_chunk_bytes);

    const std::string& head() const noexcept { return head_; }
    Index payload_bytes() const noexcept { return payload_bytes_; }
    /// The next chunk, valid until the next call; empty when all have been given.
    std::span<const std::byte> next_chunk();
    /// Hash of head and chunks; call after the last chunk.
    Hash tail();

  private:
    std::string head_;
    std::vector<std::span<const std::byte>> arrays_;
    Index payload_bytes_ = 0;
    Index chunk_bytes_;
    std::size_t array_ = 0;
    std::size_t offset_ = 0;  ///< within the array
    std::vector<std::byte> joined_;
    Digest digest_;
};

/// Bytes of all frames of a message, protobuf's framing included.
Index encoded_bytes(const Message& message, Index chunk_bytes = default_chunk_bytes);

}  // namespace couplet::wire
