#include "couplet/ctt/message_bytes.hpp"

#include <variant>

#include "couplet/core/overloaded.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/centring.hpp"

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

/// Field numbers of 16 and more, as those of what only peers send have, take a byte more.
enum class Sender : Index { anybody = 0, peer = 1 };

/// With so many bytes of payload.
Index packed_message(Index body, Index payload, Sender sender = Sender::anybody) {
    const Index full = payload / default_chunk_bytes;
    const Index rest = payload % default_chunk_bytes;
    const Index head = route_bytes + framed(body) + static_cast<Index>(sender);
    return framed(head) + full * framed(default_chunk_bytes) + (rest > 0 ? framed(rest) : 0) + framed(hash_bytes);
}

Index message_bytes(Index body, Index numbers, Sender sender = Sender::anybody) {
    return packed_message(body, 8 * numbers, sender);
}

/// Fields that tell how a block is coded: its kind and step.
constexpr Index code_fields = field32 + field64;

}  // namespace

Index serialised_bytes(const Upload& upload) {
    const FeatureBlock& block = upload.block.get();
    const auto& code = block.code();
    const bool dense = code ? code->ranks.empty() : block.is_dense();
    const Index body =
        packed(block.features().order()) + packed(dense ? 0 : block.features().order() + 1) + 5 * field64;
    if (code) return packed_message(body + code_fields, static_cast<Index>(code->bytes.size()));
    return message_bytes(body, block.numbers());
}

namespace {

Index merge_bytes(const MergeState& state) {
    const FeatureBlock& block = state.block;
    const auto& code = block.code();
    const bool dense = code ? code->ranks.empty() : block.is_dense();
    const Index order = block.features().order();
    // Trains that are not coded say whether they are orthonormal.
    const Index body = packed(order) + packed(dense ? 0 : order + 1) + 7 * field64 +
                       (block.is_dense() ? 0 : field_bool) + (code ? code_fields : 0);
    return code ? packed_message(body, static_cast<Index>(code->bytes.size()), Sender::peer)
                : message_bytes(body, block.numbers(), Sender::peer);
}

}  // namespace

Index serialised_bytes(const PeerBody& body) {
    const auto plain = [](Index numbers) { return message_bytes(2 * field64, numbers, Sender::peer); };
    return std::visit(
        Overloaded{[&](const Released<std::vector<double>>& state) { return plain(static_cast<Index>(state->size())); },
                   [&](const Matrix<double>& basis) { return plain(basis.size()); },
                   [](const FeaturesMessage& message) { return serialised_bytes(message); },
                   [](const Start&) { return message_bytes(3 * field64 + field_bool, 0); },
                   [](const MergeState& state) { return merge_bytes(state); }},
        body);
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
    if (const auto& code = message.features.code) {
        const Index ranks = code->ranks.empty() ? 0 : train.order() + 1;
        const Index body = packed(train.order()) + packed(ranks) + field64 + code_fields + field_bool +
                           (message.rel_error_bound ? field64 : 0);
        return packed_message(body, static_cast<Index>(code->bytes.size()));
    }
    const Index body = packed(train.order()) + packed(train.order() + 1) + field64 + field_bool +
                       (message.rel_error_bound ? field64 : 0) + (message.filling ? 2 * field64 + 3 * field_bool : 0);
    return message_bytes(body, train.parameters() + static_cast<Index>(message.features.sigma.size()));
}

double serialised_bytes(double numbers) {
    return static_cast<double>(message_bytes(field32 + field64, static_cast<Index>(numbers)));
}

CentringTraffic centring_traffic(Index features, const CentringOptions& options) {
    const Index down = sums_length(features, options) - 1;
    // Its field number takes two bytes, as those of peers do.
    const Index weight =
        options.weight == Weight::none ? 0 : field32 + field64 + packed(static_cast<Index>(options.any_at.size()));
    const auto request = [&](Index numbers) {
        const Index more = numbers > 0 ? weight : 0;
        return static_cast<double>(message_bytes(2 * field64 + field_bool + more, numbers, Sender::peer));
    };
    const auto up = static_cast<double>(down + 1);
    return {up + 1, static_cast<double>(down), serialised_bytes(up) + serialised_bytes(1.0),
            request(0) + request(down)};
}

}  // namespace couplet
