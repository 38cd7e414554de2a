#include "couplet/wire/encoder.hpp"

#include <algorithm>
#include <bit>

#include "convert.hpp"
#include "couplet/core/error.hpp"
#include "federation.pb.h"

namespace couplet::wire {

static_assert(std::endian::native == std::endian::little, "numbers travel little endian");

Encoder::Encoder(const Message& message, Index chunk_bytes) : chunk_bytes_(chunk_bytes) {
    require_chunk_bytes(chunk_bytes, "chunk size");
    arrays_ = payload_of(message);
    for (const auto& array : arrays_) payload_bytes_ += static_cast<Index>(array.size());
    head_ = serialise_head(message, payload_bytes_, chunk_bytes);
    digest_.add(std::as_bytes(std::span(head_)));
}

std::span<const std::byte> Encoder::next_chunk() {
    const auto wanted = static_cast<std::size_t>(chunk_bytes_);
    while (array_ < arrays_.size() && offset_ == arrays_[array_].size()) {
        ++array_;
        offset_ = 0;
    }
    if (array_ == arrays_.size()) return {};
    std::span<const std::byte> chunk = arrays_[array_].subspan(offset_);
    const bool last = std::all_of(arrays_.begin() + static_cast<std::ptrdiff_t>(array_) + 1, arrays_.end(),
                                  [](const auto& array) { return array.empty(); });
    if (chunk.size() >= wanted || last) {
        chunk = chunk.first(std::min(wanted, chunk.size()));
        offset_ += chunk.size();
    } else {
        joined_.clear();
        while (joined_.size() < wanted && array_ < arrays_.size()) {
            const auto rest = arrays_[array_].subspan(offset_);
            const std::size_t count = std::min(wanted - joined_.size(), rest.size());
            joined_.insert(joined_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
            offset_ += count;
            if (offset_ < arrays_[array_].size()) break;
            ++array_;
            offset_ = 0;
        }
        chunk = joined_;
    }
    digest_.add(chunk);
    return chunk;
}

Hash Encoder::tail() { return digest_.finish(); }

Index encoded_bytes(const Message& message, Index chunk_bytes) {
    Encoder encoder(message, chunk_bytes);
    const auto framed = [](std::size_t bytes) {
        v1::Frame frame;
        frame.set_chunk(std::string(bytes, '\0'));
        return static_cast<Index>(frame.ByteSizeLong());
    };
    Index bytes = framed(encoder.head().size()) + framed(hash_bytes);
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) bytes += framed(chunk.size());
    return bytes;
}

}  // namespace couplet::wire
