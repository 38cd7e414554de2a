#include "couplet/wire/receiver.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "convert.hpp"
#include "couplet/core/error.hpp"

namespace couplet::wire {
namespace {

/// Of masked numbers, and of sums that were opened: a request that promises numbers has those alone.
bool are_integers(const Head& head) {
    return head.kind == Kind::secure_reply || (head.kind == Kind::secure_request && head.numbers == 0);
}

/// Position of the first NaN or infinity. The bytes need not be aligned.
std::optional<Index> first_non_finite(std::span<const std::byte> bytes) {
    constexpr std::uint64_t exponent = 0x7ff0000000000000;
    const auto number = [&](std::size_t i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + 8 * i, 8);
        return bits;
    };
    const std::size_t count = bytes.size() / 8;
    constexpr std::size_t block = 1024;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t end = std::min(count, first + block);
        std::uint64_t bad = 0;
        for (std::size_t i = first; i < end; ++i) bad |= (number(i) & exponent) == exponent ? 1U : 0U;
        if (bad == 0) continue;
        for (std::size_t i = first; i < end; ++i) {
            if ((number(i) & exponent) == exponent) return static_cast<Index>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

Receiver::Receiver(std::string who, Limits limits) : who_(std::move(who)), limits_(limits) {}

const Head& Receiver::head(std::string_view bytes) {
    if (head_) throw InputError({who_, "a second head", "the chunks of the message that began", ""});
    if (static_cast<Index>(bytes.size()) > limits_.max_head_bytes) {
        throw InputError({who_, "a head of " + std::to_string(bytes.size()) + " bytes",
                          "at most " + std::to_string(limits_.max_head_bytes), ""});
    }
    Head head = parse_head(bytes, who_);
    if (head.payload_bytes > limits_.max_payload_bytes) {
        throw InputError({who_, "a message of " + std::to_string(head.payload_bytes) + " bytes",
                          "at most " + std::to_string(limits_.max_payload_bytes),
                          "Use a smaller rank, or raise max_message_mib in the coordinator's kit."});
    }
    if (head.code && head.numbers > limits_.max_payload_bytes / static_cast<Index>(sizeof(double))) {
        throw InputError({who_, "a message that decodes to " + std::to_string(head.numbers) + " numbers",
                          "at most " + std::to_string(limits_.max_payload_bytes / static_cast<Index>(sizeof(double))),
                          "Use a smaller rank, or raise max_message_mib in the coordinator's kit."});
    }
    digest_.add(std::as_bytes(std::span(bytes)));
    head_ = std::move(head);
    return *head_;
}

void Receiver::chunk(std::span<const std::byte> bytes) {
    if (!head_ || complete_) throw InputError({who_, "a chunk", "the head of a message", ""});
    const auto size = static_cast<Index>(bytes.size());
    const Index wanted = std::min(head_->chunk_bytes, head_->payload_bytes - received_);
    if (size != wanted || wanted == 0) {
        throw InputError(
            {who_, "a chunk of " + std::to_string(size) + " bytes", std::to_string(wanted) + " as promised", ""});
    }
    if (head_->code) {
        coded_.insert(coded_.end(), bytes.begin(), bytes.end());
    } else if (are_integers(*head_)) {
        // Of a ring: whatever they are, they are numbers.
    } else if (const auto at = first_non_finite(bytes)) {
        throw InputError({who_,
                          "NaN or infinity at number " + std::to_string(received_ / 8 + *at + 1) + " of its " +
                              std::string(to_string(head_->kind)),
                          "finite numbers", "Check the data of that client."});
    }
    digest_.add(bytes);
    received_ += size;
}

void Receiver::tail(std::span<const std::byte> hash) {
    if (!head_ || complete_ || received_ != head_->payload_bytes) {
        const Index promised = head_ ? head_->payload_bytes : 0;
        throw InputError({who_, "an end after " + std::to_string(received_) + " bytes",
                          std::to_string(promised) + " as promised", ""});
    }
    const Hash found = digest_.finish();
    if (!std::equal(hash.begin(), hash.end(), found.begin(), found.end())) {
        throw InputError({who_, "a hash that does not match", "that of the message", "Send it again."});
    }
    if (head_->code) check_coded();
    complete_ = true;
}

void Receiver::check_coded() {
    BlockCode code = *head_->code;
    code.bytes = std::exchange(coded_, {});
    try {
        decode_cores(code);
    } catch (const InputError& error) {
        throw InputError({who_, error.parts().found + " in its " + std::string(to_string(head_->kind)),
                          error.parts().expected, "Check the version of couplet at that party."});
    }
}

}  // namespace couplet::wire
