#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/wire/encoder.hpp"
#include "couplet/wire/receiver.hpp"
#include "federations.hpp"

namespace couplet::wire {

using namespace support;

/// A message in the parts that travel.
struct Parts {
    std::string head;
    std::vector<std::vector<std::byte>> chunks;
    Hash tail{};

    std::vector<std::byte> payload() const {
        std::vector<std::byte> all;
        for (const auto& chunk : chunks) all.insert(all.end(), chunk.begin(), chunk.end());
        return all;
    }
};

inline Parts encode(const Message& message, Index chunk_bytes = default_chunk_bytes) {
    Encoder encoder(message, chunk_bytes);
    Parts parts{encoder.head(), {}, {}};
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) {
        parts.chunks.emplace_back(chunk.begin(), chunk.end());
    }
    parts.tail = encoder.tail();
    return parts;
}

/// Through the checks and back.
inline Message receive(const Parts& parts, Limits limits = {}) {
    Receiver receiver("client a", limits);
    receiver.head(parts.head);
    for (const auto& chunk : parts.chunks) receiver.chunk(chunk);
    receiver.tail(parts.tail);
    EXPECT_TRUE(receiver.complete());
    return assemble(parts.head, parts.payload(), "client a");
}

template <class T>
T round_trip(T body, Route route = {}) {
    Message back = receive(encode({route, std::move(body)}));
    EXPECT_EQ(back.route, route);
    return std::get<T>(std::move(back.body));
}

/// What InputError says; empty when nothing is thrown.
inline std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

/// A train of three cores.
inline Upload some_upload() {
    const auto x = population_client({9, 5, 4, 3}, 2, 0.7, 1e-4, 1, 1);
    return compress_client(x.view(), {0.1, 0.1, 2});
}

/// Quantised: dense rows, or a train.
inline Upload coded_upload(bool dense) {
    const auto x = dense ? random_tensor<double>({6, 5, 4}, 1) : population_client({9, 12, 13}, 2, 0.7, 1e-5, 1, 1);
    return compress_client(x.view(), {0.01, 0.01, 6, {}, Precision::automatic, 0.015});
}

inline FeaturesMessage coded_features(bool dense) { return {decode_features(coded_upload(dense).block->code()), 0.25}; }

inline FeaturesMessage some_features() {
    auto features = orthonormal_features(random_train<double>({5, 4, 3}, {3, 4, 2, 1}, 2));
    features.sigma = {3, 2, 1};
    return {std::move(features), 0.25};
}

}  // namespace couplet::wire
