#include "membership.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

using wire::Epoch;
using wire::Incarnation;
using wire::PeerRecord;
using wire::Stage;

// Restarts of one peer that are told apart; older ones are forgotten, and what somebody kept of them counts no more.
constexpr std::size_t most_processes = 4;
// Epochs are counted in the high bits of their numbers; the low ones are the proposer's own, so that no two propose the
// same number, not even a process that does not know what the one before it has proposed.
constexpr int own_bits = 20;
// Nobody comes that far by counting.
constexpr std::uint64_t highest_number = std::uint64_t{1} << 62;
// What a peer says may be so far ahead of everything that is known: nobody counts faster, and one that says otherwise
// would leave no numbers to the others.
constexpr std::uint64_t most_ahead = std::uint64_t{1} << 16;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

std::size_t count_members(const std::vector<Incarnation>& members) {
    return members.size() - static_cast<std::size_t>(std::count(members.begin(), members.end(), Incarnation{0}));
}

/// Members before that peer.
Index place_of(const Epoch& epoch, Index peer) {
    return static_cast<Index>(
        count_members({epoch.members.begin(), epoch.members.begin() + static_cast<std::ptrdiff_t>(peer)}));
}

/// Links between a member and the one that is farthest from it; 1 for one alone.
Index farthest(const Graph& graph, const Epoch& epoch, Index from) {
    std::vector<Edge> alive;
    for (std::size_t i = 0; i < graph.edges().size(); ++i) {
        if (epoch.links[i]) alive.push_back(graph.edges()[i]);
    }
    const Graph carried(graph.nodes(), std::move(alive));
    std::vector<Index> distance(epoch.members.size(), -1);
    std::vector<Index> reached{from};
    distance[at(from)] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const Index next : carried.neighbours(reached[i])) {
            if (distance[at(next)] >= 0) continue;
            distance[at(next)] = distance[at(reached[i])] + 1;
            reached.push_back(next);
        }
    }
    return std::max<Index>(1, distance[at(reached.back())]);
}

std::uint64_t highest_of(const PeerRecord& record) {
    return std::max({record.promised, record.proposal.number, record.committed.number});
}

/// Whether everybody of the epoch is there, and nobody else, and all its links carry.
bool holds(const Epoch& epoch, const Epoch& there) {
    if (epoch.members != there.members) return false;
    for (std::size_t i = 0; i < epoch.links.size(); ++i) {
        if (epoch.links[i] && !there.links[i]) return false;
    }
    return true;
}

}  // namespace

Membership::Membership(MembershipOptions options, Time now)
    : options_(std::move(options)),
      nodes_(options_.graph.nodes()),
      begin_(now),
      target_since_(now),
      wanted_since_(now),
      standing_since_(now) {
    if (nodes_ > wire::most_peers) {
        throw InputError({"peers", std::to_string(nodes_), "at most " + std::to_string(wire::most_peers), ""});
    }
    own_.peer = options_.self;
    own_.incarnation = options_.incarnation;
    own_.version = 1;
    own_.features = options_.features;
    own_.rows = options_.rows;
    own_.schema = options_.schema;
    own_.hears.assign(at(nodes_), 0);
    published_ = own_;
    last_heard_.assign(at(nodes_), now);
    records_.resize(at(nodes_));
    doubted_.assign(at(nodes_), 0);
    sent_.resize(at(nodes_));
    advance(now);
}

void Membership::heard(Index neighbour, Incarnation process, Time now) {
    if (!options_.graph.has_edge(options_.self, neighbour) || process == 0) return;
    last_heard_[at(neighbour)] = now;
    if (own_.hears[at(neighbour)] == process) return;
    own_.hears[at(neighbour)] = process;
    advance(now);
}

void Membership::check(const PeerRecord& record) const {
    const auto fits = [&](const std::vector<Incarnation>& list) { return list.size() == at(nodes_); };
    const auto epoch_fits = [&](const Epoch& epoch) {
        // Bits travel in whole bytes.
        return epoch.number == 0 ||
               (fits(epoch.members) && epoch.links.size() / 8 == (options_.graph.edges().size() + 7) / 8);
    };
    const bool fitting = record.peer >= 0 && record.peer < nodes_ && record.incarnation != 0 && fits(record.hears) &&
                         epoch_fits(record.proposal) && epoch_fits(record.committed);
    if (!fitting) {
        throw InputError(
            {"bulletin", "a record of another network", std::to_string(nodes_) + " provisioned peers", ""});
    }
    const std::uint64_t bound = std::min(highest_number, ((highest_known() >> own_bits) + most_ahead) << own_bits);
    if (highest_of(record) < bound) return;
    throw InputError({"bulletin", "an epoch far ahead of all others: " + std::to_string(highest_of(record)),
                      "a number below " + std::to_string(bound), ""});
}

void Membership::receive(const std::vector<PeerRecord>& records, Time now) {
    for (const PeerRecord& record : records) check(record);
    for (const PeerRecord& record : records) store(record);
    advance(now);
}

bool Membership::is_news(const PeerRecord& record) const {
    if (record.peer == options_.self) return false;
    if (record.peer < 0 || record.peer >= nodes_) return true;
    if (const PeerRecord* same = find(record.peer, record.incarnation)) return same->version < record.version;
    const auto& known = records_[at(record.peer)];
    return known.size() < most_processes || std::any_of(known.begin(), known.end(), [&](const PeerRecord& r) {
               return r.incarnation < record.incarnation;
           });
}

void Membership::store(const PeerRecord& record) {
    if (record.peer == options_.self) return;
    auto& known = records_[at(record.peer)];
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const PeerRecord& r) { return r.incarnation == record.incarnation; });
    if (same != known.end()) {
        if (same->version < record.version) *same = record;
        return;
    }
    known.push_back(record);
    if (known.size() <= most_processes) return;
    known.erase(std::min_element(known.begin(), known.end(), [](const PeerRecord& a, const PeerRecord& b) {
        return a.incarnation < b.incarnation;
    }));
}

void Membership::finished(std::uint64_t epoch, const wire::PeerReport& report, Time now) {
    // A peer that has promised a later epoch says nothing more of this one.
    if (own_.committed.number == epoch && own_.stage == Stage::working && !frozen()) {
        own_.stage = Stage::finished;
        own_.report = report;
    }
    advance(now);
}

void Membership::tick(Time now) { advance(now); }

std::vector<const PeerRecord*> Membership::unsent(Index neighbour) const {
    std::vector<const PeerRecord*> result;
    const auto& sent = sent_[at(neighbour)];
    const auto offer = [&](const PeerRecord& record) {
        const auto known = sent.find({record.peer, record.incarnation});
        if (known == sent.end() || known->second < record.version) result.push_back(&record);
    };
    for (const auto& known : records_) {
        for (const PeerRecord& record : known) {
            if (record.peer != neighbour) offer(record);
        }
    }
    // Last: what this peer has concluded comes after what it concluded it from.
    offer(own_);
    return result;
}

std::vector<PeerRecord> Membership::news(Index neighbour, Index most) {
    std::vector<PeerRecord> result;
    for (const PeerRecord* record : unsent(neighbour)) {
        if (static_cast<Index>(result.size()) >= most) break;
        sent_[at(neighbour)][{record->peer, record->incarnation}] = record->version;
        result.push_back(*record);
    }
    return result;
}

bool Membership::has_news(Index neighbour) const { return !unsent(neighbour).empty(); }

void Membership::reset(Index neighbour) { sent_[at(neighbour)].clear(); }

std::vector<Index> Membership::members() const {
    std::vector<Index> result;
    for (Index k = 0; k < static_cast<Index>(own_.committed.members.size()); ++k) {
        if (own_.committed.members[at(k)] != 0) result.push_back(k);
    }
    return result;
}

std::vector<Edge> Membership::links() const {
    std::vector<Edge> result;
    for (std::size_t i = 0; own_.committed.number > 0 && i < options_.graph.edges().size(); ++i) {
        if (own_.committed.links[i]) result.push_back(options_.graph.edges()[i]);
    }
    return result;
}

bool Membership::knows_members() const {
    const std::vector<Index> places = members();
    return std::all_of(places.begin(), places.end(), [this](Index place) { return is_known(place); });
}

const PeerRecord& Membership::member(Index peer) const {
    const auto& members = own_.committed.members;
    const bool is_member = peer >= 0 && peer < static_cast<Index>(members.size()) && members[at(peer)] != 0;
    const PeerRecord* record = is_member ? find(peer, members[at(peer)]) : nullptr;
    if (record == nullptr) {
        throw RunError({"peer " + std::to_string(peer + 1), "no member of this epoch", "one that takes part", ""});
    }
    return *record;
}

bool Membership::knows_decision(Index neighbour) const {
    const PeerRecord* record = find(neighbour, own_.hears[at(neighbour)]);
    if (record == nullptr || own_.committed.number == 0) return record != nullptr;
    return own_.committed.members[at(neighbour)] != record->incarnation || record->stage == Stage::decided;
}

bool Membership::may_leave() const {
    if (!decided()) return false;
    const auto neighbours = options_.graph.neighbours(options_.self);
    return std::all_of(neighbours.begin(), neighbours.end(), [&](Index k) { return !hears(k) || knows_decision(k); });
}

std::vector<Index> Membership::hearers(Index peer) const {
    std::vector<Index> found;
    for (Index k = 0; k < nodes_; ++k) {
        const auto& records = records_[static_cast<std::size_t>(k)];
        if (!records.empty() && records.back().hears[static_cast<std::size_t>(peer)] != 0) found.push_back(k);
    }
    return found;
}

std::vector<Index> Membership::reachable() const {
    std::vector<Index> result;
    const Members all = component({});
    for (Index k = 0; k < nodes_; ++k) {
        if (all[at(k)] != 0) result.push_back(k);
    }
    return result;
}

const PeerRecord* Membership::find(Index peer, Incarnation process) const {
    if (peer == options_.self) return process == own_.incarnation ? &own_ : nullptr;
    for (const PeerRecord& record : records_[at(peer)]) {
        if (record.incarnation == process) return &record;
    }
    return nullptr;
}

Membership::Members Membership::component(const Members& among, const Members& without) const {
    Members result(at(nodes_), 0);
    std::vector<Index> todo{options_.self};
    result[at(options_.self)] = own_.incarnation;
    while (!todo.empty()) {
        const Index i = todo.back();
        todo.pop_back();
        const PeerRecord& here = *find(i, result[at(i)]);
        for (const Index j : options_.graph.neighbours(i)) {
            const Incarnation process = here.hears[at(j)];
            if (process == 0 || result[at(j)] != 0) continue;
            if (!among.empty() && among[at(j)] != process) continue;
            if (!without.empty() && without[at(j)] == process) continue;
            const PeerRecord* there = find(j, process);
            if (there == nullptr || there->hears[at(i)] != here.incarnation) continue;
            result[at(j)] = process;
            todo.push_back(j);
        }
    }
    return result;
}

std::vector<bool> Membership::alive_links(const Members& among) const {
    const auto edges = options_.graph.edges();
    std::vector<bool> result((edges.size() + 7) / 8 * 8, false);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const Incarnation a = among[at(edges[i].a)];
        const Incarnation b = among[at(edges[i].b)];
        if (a == 0 || b == 0) continue;
        result[i] = find(edges[i].a, a)->hears[at(edges[i].b)] == b && find(edges[i].b, b)->hears[at(edges[i].a)] == a;
    }
    return result;
}

Epoch Membership::newest_epoch() const {
    Epoch newest = own_.committed;
    const Members all = component({});
    for (Index k = 0; k < nodes_; ++k) {
        const PeerRecord* record = all[at(k)] != 0 ? find(k, all[at(k)]) : nullptr;
        if (record != nullptr && record->committed.number > newest.number) newest = record->committed;
    }
    return newest;
}

std::uint64_t Membership::highest_known() const {
    std::uint64_t highest = highest_of(own_);
    for (const auto& known : records_) {
        for (const PeerRecord& record : known) highest = std::max(highest, highest_of(record));
    }
    return highest;
}

std::uint64_t Membership::next_number() const {
    return (((highest_known() >> own_bits) + 1) << own_bits) | (own_.incarnation & ((1U << own_bits) - 1));
}

void Membership::advance(Time now) {
    drop_silent(now);
    while (!failure_ && step(now)) {
    }
    give_up(now);
    if (own_ == published_) return;
    ++own_.version;
    published_ = own_;
}

void Membership::drop_silent(Time now) {
    for (Index k = 0; k < nodes_; ++k) {
        if (now - last_heard_[at(k)] > options_.link_deadline) own_.hears[at(k)] = 0;
    }
}

bool Membership::step(Time now) {
    if (decided()) return false;
    return adopt() || progress() || promise() || conclude_proposal() || propose(now);
}

/// Promises the highest epoch that anybody proposes with this process in it.
bool Membership::promise() {
    std::uint64_t highest = own_.promised;
    for (const auto& known : records_) {
        for (const PeerRecord& record : known) {
            if (doubted_[at(record.peer)] == record.incarnation) continue;
            const Epoch& proposal = record.proposal;
            if (proposal.number > highest && proposal.members[at(options_.self)] == own_.incarnation) {
                highest = proposal.number;
            }
        }
    }
    return std::exchange(own_.promised, highest) != highest;
}

/// Begins the epoch that was promised, once its proposer has committed it.
bool Membership::adopt() {
    for (const auto& known : records_) {
        for (const PeerRecord& record : known) {
            const Epoch& epoch = record.committed;
            if (epoch.number <= own_.committed.number || epoch.number != own_.promised) continue;
            if (epoch.members[at(options_.self)] != own_.incarnation) continue;
            own_.committed = epoch;
            own_.stage = Stage::working;
            own_.report.reset();
            return true;
        }
    }
    return false;
}

/// Finished, informed, decided: what follows from the other members' stages.
bool Membership::progress() {
    if (own_.stage == Stage::working) return false;
    std::size_t done = 0;
    std::size_t informed = 0;
    bool decision = false;
    for (const Index k : members()) {
        const PeerRecord* record = find(k, own_.committed.members[at(k)]);
        if (record == nullptr || record->committed.number != own_.committed.number) continue;
        if (record->stage >= Stage::finished) ++done;
        if (record->stage >= Stage::informed) ++informed;
        if (record->stage == Stage::decided) decision = true;
    }
    const Stage before = own_.stage;
    if (own_.stage == Stage::finished && !frozen() && done == members().size()) own_.stage = Stage::informed;
    if (decision || is_majority(informed)) own_.stage = Stage::decided;
    return own_.stage != before;
}

/// When everybody has promised the epoch that this peer proposes: commits it, or decides the one before.
bool Membership::conclude_proposal() {
    const Epoch& proposal = own_.proposal;
    if (proposal.number == 0 || proposal.number != own_.promised || proposal.number <= own_.committed.number) {
        return false;
    }
    Epoch newest;
    for (Index k = 0; k < nodes_; ++k) {
        if (proposal.members[at(k)] == 0) continue;
        const PeerRecord* record = find(k, proposal.members[at(k)]);
        if (record == nullptr || record->promised != proposal.number) return false;
        if (record->committed.number > newest.number) newest = record->committed;
    }
    for (Index k = 0; newest.number > 0 && k < nodes_; ++k) {
        const Incarnation process = proposal.members[at(k)];
        if (process == 0) continue;
        // Members are only ever lost; a view that was wrong about that is corrected by the next proposal.
        if (newest.members[at(k)] != process) return false;
        const PeerRecord& record = *find(k, process);
        if (record.committed.number != newest.number || record.stage < Stage::informed) continue;
        // Everybody has finished that epoch, this peer too, and somebody may have decided it.
        if (own_.committed.number != newest.number) return false;
        own_.stage = Stage::decided;
        return true;
    }
    own_.committed = proposal;
    own_.stage = Stage::working;
    own_.report.reset();
    return true;
}

Membership::Outlook Membership::look(Time now) {
    Outlook outlook{.newest = newest_epoch()};
    const Epoch& newest = outlook.newest;
    if (newest.number != newest_) {
        newest_ = newest.number;
        wanted_since_ = standing_since_ = now;
        // They took part in it after all.
        for (std::size_t k = 0; k < newest.members.size(); ++k) {
            if (doubted_[k] == newest.members[k]) doubted_[k] = 0;
        }
    }
    Epoch target{0, component(newest.members, doubted_), {}};
    target.links = alive_links(target.members);
    if (target != target_) {
        target_ = target;
        target_since_ = wanted_since_ = standing_since_ = now;
    }
    std::vector<const PeerRecord*> members;
    for (Index k = 0; k < nodes_; ++k) {
        if (target_.members[at(k)] != 0) members.push_back(find(k, target_.members[at(k)]));
    }
    for (const PeerRecord* record : members) outlook.promised = std::max(outlook.promised, record->promised);
    for (const PeerRecord* record : members) {
        const Epoch& proposal = record->proposal;
        const bool stands =
            proposal.number > newest.number && proposal.number >= outlook.promised && holds(proposal, target_);
        const bool higher = outlook.standing == nullptr || outlook.standing->proposal.number < proposal.number;
        if (stands && higher) outlook.standing = record;
    }
    return outlook;
}

bool Membership::is_everybody(const Epoch& epoch) const {
    const auto alive = static_cast<std::size_t>(std::count(epoch.links.begin(), epoch.links.end(), true));
    return count_members(epoch.members) == at(nodes_) && alive == options_.graph.edges().size();
}

bool Membership::is_wanted(const Outlook& outlook, Time now) const {
    const Epoch& newest = outlook.newest;
    if (newest.number > 0) return !holds(newest, target_) || outlook.promised > newest.number;
    return is_everybody(target_) || now - begin_ >= options_.gather || outlook.promised > 0;
}

Membership::Time Membership::news_time() const {
    return options_.link_deadline * farthest(options_.graph, target_, options_.self);
}

/// Who is not waited for any more: those who do not promise what stands, or who do not commit it. A proposer that
/// proposes again and again does not commit either.
void Membership::doubt_idle(const Outlook& outlook, Time now) {
    const PeerRecord& proposer = *outlook.standing;
    const Time patience = news_time();
    const Time waited = now - standing_since_;
    const bool restless = now - wanted_since_ >= patience * (place_of(target_, proposer.peer) + 3);
    if (waited < patience && !restless) return;
    Members doubted = doubted_;
    const auto doubt = [&](Index k) {
        if (k != options_.self) doubted[at(k)] = target_.members[at(k)];
    };
    for (Index k = 0; waited >= patience && k < nodes_; ++k) {
        const Incarnation process = target_.members[at(k)];
        if (process != 0 && find(k, process)->promised < proposer.proposal.number) doubt(k);
    }
    // Their promises had to come to it, and its commit from it.
    if (doubted == doubted_ && (waited >= 2 * patience || restless)) doubt(proposer.peer);
    // Without a majority there is nothing to be had by going on without them.
    if (is_majority(count_members(component(outlook.newest.members, doubted)))) doubted_ = std::move(doubted);
}

bool Membership::propose(Time now) {
    const Outlook outlook = look(now);
    const Epoch& newest = outlook.newest;
    if (!is_majority(count_members(target_.members))) return false;
    if (newest.number > 0 && newest.members[at(options_.self)] != own_.incarnation) return false;
    const bool wanted = is_wanted(outlook, now);
    if (!wanted) wanted_since_ = now;
    const std::uint64_t standing = wanted && outlook.standing != nullptr ? outlook.standing->proposal.number : 0;
    if (!wanted || standing != standing_) standing_since_ = now;
    standing_ = standing;
    if (standing != 0) doubt_idle(outlook, now);
    if (!wanted || standing != 0) return false;
    // Everybody in turn, the first at once.
    const Index place = place_of(target_, options_.self);
    if (place > 0 && now - standing_since_ < news_time() * place) return false;
    // Losses come together: those of one dead peer's neighbours, those of a partition. One proposal for all of them,
    // and none that outbids another view of the network at once. Nothing more can be expected when everybody is there.
    const Time settle = options_.link_deadline / 4;
    const bool settled = now - target_since_ >= settle && now - proposed_at_ >= settle;
    if (!settled && !(is_everybody(target_) && own_.proposal.number == 0)) return false;
    own_.proposal = {next_number(), target_.members, target_.links};
    own_.promised = own_.proposal.number;
    proposed_at_ = now;
    return true;
}

/// One peer alone cannot say that the others went on: they say so themselves.
bool Membership::is_borne_out(const Epoch& epoch) const {
    std::size_t promised = 0;
    for (Index k = 0; k < nodes_; ++k) {
        const PeerRecord* record = epoch.members[at(k)] != 0 ? find(k, epoch.members[at(k)]) : nullptr;
        if (record != nullptr && record->promised >= epoch.number) ++promised;
    }
    return is_majority(promised);
}

void Membership::give_up(Time now) {
    if (failure_ || decided()) return;
    const Epoch newest = newest_epoch();
    if (newest.number > own_.committed.number && newest.members[at(options_.self)] != own_.incarnation &&
        is_borne_out(newest)) {
        failure_ = Failure::left_out;
        others_ = newest;
    } else if (now - begin_ >= options_.deadline) {
        failure_ = Failure::deadline;
    }
}

}  // namespace couplet::net
