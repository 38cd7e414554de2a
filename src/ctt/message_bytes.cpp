#include "couplet/ctt/message_bytes.hpp"

namespace couplet {
namespace {

// Sizes of the fields of src/wire/proto/federation.proto: a tag of one byte, then the value.
constexpr Index field32 = 1 + 4;
constexpr Index field64 = 1 + 8;
constexpr Index field_bool = 1 + 1;
constexpr Index hash_bytes = 32;
constexpr Index job_bytes = 16;
/// Of every head: protocol, attempt, step, chunk size; payload size; job.
constexpr Index route_bytes = 4 * field32 + field64 + 2 + job_bytes;

Index varint_bytes(Index value) {
    Index bytes = 1;
    for (; value >= 128; value /= 128) ++bytes;
    return bytes;
}

/// A field of so many bytes: its tag, its length and itself.
Index framed(Index bytes) { return 1 + varint_bytes(bytes) + bytes; }

Index packed(Index count) { return count == 0 ? 0 : framed(8 * count); }

Index message_bytes(Index body, Index numbers) {
    const Index payload = 8 * numbers;
    const Index full = payload / default_chunk_bytes;
    const Index rest = payload % default_chunk_bytes;
    return framed(route_bytes + framed(body)) + full * framed(default_chunk_bytes) + (rest > 0 ? framed(rest) : 0) +
           framed(hash_bytes);
}

}  // namespace

Index serialised_bytes(const Upload& upload) {
    const FeatureBlock& block = upload.block.get();
    const Index ranks = block.is_dense() ? 0 : block.features().order() + 1;
    return message_bytes(packed(block.features().order()) + packed(ranks) + 5 * field64, block.numbers());
}

Index serialised_bytes(const SumReply& reply) {
    return message_bytes(field32 + field64, static_cast<Index>(reply.sum->size()));
}

Index serialised_bytes(const SumRequest& request) {
    // The first basis comes from the seed and does not travel.
    return message_bytes(2 * field32 + 2 * field64, request.pass == 0 ? 0 : request.basis.size());
}

Index serialised_bytes(const FeaturesMessage& message) {
    const TensorTrain<double>& train = message.features.train;
    const Index body = packed(train.order()) + packed(train.order() + 1) + field64 + field_bool +
                       (message.rel_error_bound ? field64 : 0) + (message.filling ? 2 * field64 + 3 * field_bool : 0);
    return message_bytes(body, train.parameters() + static_cast<Index>(message.features.sigma.size()));
}

double serialised_bytes(double numbers) {
    return static_cast<double>(message_bytes(field32 + field64, static_cast<Index>(numbers)));
}

}  // namespace couplet
