#include "connection_book.hpp"

#include <algorithm>

namespace couplet::net {
namespace {

constexpr std::size_t least_strangers = 32;

}  // namespace

ConnectionLimits connection_limits(std::size_t parties, std::size_t descriptors) {
    ConnectionLimits limits;
    const std::size_t files = reserved_descriptors + parties;
    const std::size_t room = descriptors > files + least_strangers ? descriptors - files : least_strangers;
    // After a restart everybody comes back at once, and is a stranger first.
    const std::size_t strangers = std::max<std::size_t>(128, 2 * parties);
    limits.total = std::min(room, limits.per_party * parties + strangers);
    limits.strangers = std::min(strangers, std::max(limits.total / 2, least_strangers));
    return limits;
}

ConnectionBook::Id ConnectionBook::add(const std::string& address, Clock::time_point now) {
    entries_[next_] = {address, address.substr(0, address.rfind(':')), now};
    return next_++;
}

void ConnectionBook::spoke(Id id) {
    if (const auto found = entries_.find(id); found != entries_.end()) found->second.silent = false;
}

bool ConnectionBook::admit(const std::string& address, const std::string& party, const std::string& serial) {
    // The newest: an address is used again once the connection before it is gone.
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [&](const auto& e) { return e.second.address == address; });
    if (found == entries_.rend()) return false;
    found->second.silent = false;
    found->second.party = party;
    found->second.serial = serial;
    return true;
}

void ConnectionBook::remove(Id id) { entries_.erase(id); }

std::size_t ConnectionBook::strangers() const {
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const auto& e) { return e.second.party.empty(); }));
}

std::optional<ConnectionBook::Id> ConnectionBook::weakest_without(const std::set<Id>& gone) const {
    std::map<std::string, std::size_t> of_host;
    bool any_silent = false;
    for (const auto& [id, entry] : entries_) {
        if (!entry.party.empty() || gone.contains(id)) continue;
        ++of_host[entry.host];
        any_silent = any_silent || entry.silent;
    }
    std::optional<Id> found;
    std::size_t most = 0;
    for (const auto& [id, entry] : entries_) {
        if (!entry.party.empty() || gone.contains(id) || (any_silent && !entry.silent)) continue;
        if (of_host[entry.host] <= most) continue;
        most = of_host[entry.host];
        found = id;
    }
    return found;
}

std::optional<ConnectionBook::Id> ConnectionBook::weakest() const { return weakest_without({}); }

std::vector<ConnectionBook::Id> ConnectionBook::excess(Clock::time_point now) const {
    std::set<Id> gone;
    std::map<std::string, std::vector<Id>> of_party;
    std::size_t unknown = 0;
    for (const auto& [id, entry] : entries_) {
        if (!entry.party.empty()) {
            of_party[entry.party].push_back(id);
        } else if (now - entry.since > limits_.handshake) {
            gone.insert(id);
        } else {
            ++unknown;
        }
    }
    for (const auto& [party, ids] : of_party) {
        for (std::size_t i = 0; i + limits_.per_party < ids.size(); ++i) gone.insert(ids[i]);
    }
    const auto end_weakest = [&] {
        const auto id = weakest_without(gone);
        if (id) gone.insert(*id);
        return id.has_value();
    };
    for (; unknown > limits_.strangers; --unknown) end_weakest();
    while (entries_.size() - gone.size() > limits_.total && end_weakest()) {
    }
    return {gone.begin(), gone.end()};
}

std::vector<ConnectionBook::Id> ConnectionBook::of_serials(const std::set<std::string>& serials) const {
    std::vector<Id> result;
    for (const auto& [id, entry] : entries_) {
        if (!entry.serial.empty() && serials.contains(entry.serial)) result.push_back(id);
    }
    return result;
}

}  // namespace couplet::net
