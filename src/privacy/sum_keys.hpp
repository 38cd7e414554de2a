#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "couplet/privacy/secure_sum.hpp"

namespace couplet {

/// What both ends of masked sums do with keys and secrets.

using ByteText = std::vector<std::uint8_t>;

void put(ByteText& to, std::uint64_t value);
void put(ByteText& to, Bytes bytes);
void put(ByteText& to, const char* text);
void put(ByteText& to, const std::set<Party>& parties);

std::string party_name(Party party);
std::set<Party> parties_of(const auto& by_party) {
    std::set<Party> parties;
    for (const auto& [party, unused] : by_party) parties.insert(party);
    return parties;
}

/// Whose shares they are, and for whom; what a seal is bound to.
struct ShareRoute {
    Key session{};
    Party from = 0;
    Party to = 0;
};
ByteText seal_shares(const Secret& key, ByteText plain, const ShareRoute& route);
/// So many shares; nothing when the seal is broken.
std::optional<std::vector<Secret>> open_shares(const Secret& key, const ByteText& sealed, const ShareRoute& route,
                                               std::size_t count);
void wipe(std::vector<Key>& shares);

/// Hash of a seed that its owner signs before it is shared.
Key commitment(const Secret& seed);
/// The stream that a client hides its numbers of one sum with; the stream of a pair.
Secret own_stream(const Secret& seed, const Key& session);
Secret mask_seed(const Secret& own, const Key& other, const Key& session, Party a, Party b);
/// Adds a stream to the numbers of a sum, or takes it away.
void add_to(std::span<std::uint64_t> values, const SumTerms& sum, const Secret& stream, Sign sign);

}  // namespace couplet
