#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "couplet/wire/digest.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {

struct Limits {
    /// Of one message. Checked against what the head promises, before anything is stored.
    Index max_payload_bytes = Index{2} << 30;
    /// Heads hold shapes, figures and the labels of the features.
    Index max_head_bytes = most_chunk_bytes;
};

/// Checks one message as it arrives, part by part, and stores nothing but the bytes of a coded block until they are
/// whole: the caller keeps the chunks where it likes.
/// Everything throws InputError that blames `who`; the receiver is of no use afterwards.
class Receiver {
  public:
    explicit Receiver(std::string who, Limits limits = {});

    /// First: another protocol, an impossible shape, or more bytes than the limit are refused here.
    const Head& head(std::string_view bytes);
    /// Then chunks of exactly the size that the head promised, the last one shorter. NaN and infinity are refused.
    void chunk(std::span<const std::byte> bytes);
    /// Last: the hash of everything, once all has arrived. A coded block that does not decode is refused here.
    void tail(std::span<const std::byte> hash);

    bool complete() const noexcept { return complete_; }
    Index received_bytes() const noexcept { return received_; }

  private:
    void check_coded();

    std::string who_;
    Limits limits_;
    std::optional<Head> head_;
    Index received_ = 0;
    bool complete_ = false;
    Digest digest_;
    std::vector<std::byte> coded_;  ///< of a coded block, which is decoded once it is whole
};

/// The message of a head and its payload, which a Receiver has passed. Allocates what the payload holds. Throws
/// InputError that blames `who`.
Message assemble(std::string_view head, std::span<const std::byte> payload, const std::string& who);

}  // namespace couplet::wire
