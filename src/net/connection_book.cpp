#include "connection_book.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace couplet::net {
namespace {

constexpr std::size_t least_strangers = 32;

/// Who HOST:PORT is for the sharing of room: with IPv6 the network, of which one owner has every address.
std::string host_of(const std::string& address) {
    std::string host = address.substr(0, address.rfind(':'));
    if (!host.starts_with('[') || !host.ends_with(']')) return host;
    in6_addr six{};
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) != 1) return host;
    std::fill(std::begin(six.s6_addr) + 8, std::end(six.s6_addr), std::uint8_t{0});
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, &six, text.data(), text.size());
    return std::string(text.data()) + "/64";
}

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
    entries_[next_] = {address, host_of(address), now};
    return next_++;
}

void ConnectionBook::spoke(Id id) {
    if (const auto found = entries_.find(id); found != entries_.end()) found->second.silent = false;
}

bool ConnectionBook::admit(const std::string& address, const std::string& party, const std::string& serial) {
    const auto id = find(address);
    if (!id) return false;
    Entry& entry = entries_.at(*id);
    entry.silent = false;
    entry.party = party;
    entry.serial = serial;
    home_[party] = entry.host;
    return true;
}

std::optional<ConnectionBook::Id> ConnectionBook::find(const std::string& address) const {
    // The newest: an address is used again once the connection before it is gone.
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [&](const auto& e) { return e.second.address == address; });
    if (found == entries_.rend()) return std::nullopt;
    return found->first;
}

void ConnectionBook::remove(Id id) { entries_.erase(id); }

void ConnectionBook::received(Id id, std::uint64_t bytes) {
    if (const auto found = entries_.find(id); found != entries_.end()) found->second.received = bytes;
}

void ConnectionBook::credit(const std::string& address, std::uint64_t bytes) {
    if (const auto id = find(address)) entries_.at(*id).credit += bytes;
}

std::vector<ConnectionBook::Noise> ConnectionBook::noise(Clock::time_point now) const {
    std::vector<Noise> result;
    for (const auto& [id, entry] : entries_) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - entry.since).count();
        const std::uint64_t most = entry.party.empty()
                                       ? limits_.stranger_bytes
                                       : entry.credit + limits_.idle_bytes +
                                             limits_.idle_bytes_per_second * static_cast<std::uint64_t>(seconds);
        if (entry.received > most) result.push_back({id, entry.party, entry.received});
    }
    return result;
}

std::size_t ConnectionBook::strangers() const {
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const auto& e) { return e.second.party.empty(); }));
}

std::set<std::string> ConnectionBook::fullest_hosts(const std::set<Id>& gone) const {
    std::map<std::string, std::size_t> strangers;
    for (const auto& [id, entry] : entries_) {
        if (entry.party.empty() && !gone.contains(id)) ++strangers[entry.host];
    }
    std::map<std::string, std::size_t> shares;
    for (const auto& [party, host] : home_) ++shares[host];
    std::set<std::string> fullest;
    std::size_t most = 0;
    std::size_t most_shares = 1;
    for (const auto& [host, count] : strangers) {
        const auto found = shares.find(host);
        const std::size_t share = 1 + (found == shares.end() ? 0 : found->second);
        if (count * most_shares < most * share) continue;
        if (count * most_shares > most * share) fullest.clear();
        fullest.insert(host);
        most = count;
        most_shares = share;
    }
    return fullest;
}

std::optional<ConnectionBook::Id> ConnectionBook::weakest_without(const std::set<Id>& gone) const {
    const auto hosts = fullest_hosts(gone);
    // Everybody is silent at first: that alone must not be a reason to go, nor must one byte be one to stay. So those
    // who have spoken and those who have not each keep the newest of theirs, and whichever are more give way.
    std::vector<Id> silent;
    std::vector<Id> spoken;
    for (const auto& [id, entry] : entries_) {
        if (!entry.party.empty() || gone.contains(id) || !hosts.contains(entry.host)) continue;
        (entry.silent ? silent : spoken).push_back(id);
    }
    const auto& weaker = silent.size() >= spoken.size() ? silent : spoken;
    if (weaker.empty()) return std::nullopt;
    return weaker.front();
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
