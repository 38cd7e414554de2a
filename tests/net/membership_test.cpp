#include "membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet::net {
namespace {

using wire::Incarnation;
using wire::PeerRecord;
using Time = Membership::Time;

constexpr Time tick{10};
constexpr Time link_deadline{300};
constexpr Time gather{1500};
constexpr Time deadline{15'000};

/// A network of memberships under one seeded schedule: every bulletin is delayed at random, some arrive twice, those
/// under way when a link breaks are lost; clocks differ by hours. A job of an epoch is done some time after all its
/// members run it, if none is lost until then; each member has its result a little later.
class World {
  public:
    World(const Graph& graph, std::uint64_t seed)
        : graph_(graph), random_(seed), peers_(static_cast<std::size_t>(graph.nodes())) {
        for (Index k = 0; k < graph.nodes(); ++k) start(k);
        for (const Edge& edge : graph.edges()) up_.insert({edge.a, edge.b});
    }

    void start(Index k) {
        Node& node = at(k);
        node = Node{};
        node.process = ++processes_;
        node.skew = Time(random_.below(10'000'000));
        node.machine = std::make_unique<Membership>(MembershipOptions{.graph = graph_,
                                                                      .self = k,
                                                                      .incarnation = node.process,
                                                                      .features = {3},
                                                                      .rows = 2,
                                                                      .link_deadline = link_deadline,
                                                                      .gather = gather,
                                                                      .deadline = deadline},
                                                    node.skew + now_);
        for (const Index j : graph_.neighbours(k)) reconnect(k, j);
    }
    void kill(Index k) { at(k).machine.reset(); }
    void cut(Index a, Index b) {
        if (up_.erase({std::min(a, b), std::max(a, b)}) == 0) return;
        std::erase_if(under_way_,
                      [&](const Delivery& d) { return (d.from == a && d.to == b) || (d.from == b && d.to == a); });
    }
    void heal(Index a, Index b) {
        if (!graph_.has_edge(a, b) || !up_.insert({std::min(a, b), std::max(a, b)}).second) return;
        reconnect(a, b);
    }
    void split(const std::set<Index>& side) {
        for (const Edge& edge : graph_.edges()) {
            if (side.contains(edge.a) != side.contains(edge.b)) cut(edge.a, edge.b);
        }
    }
    void heal_all() {
        for (const Edge& edge : graph_.edges()) heal(edge.a, edge.b);
    }
    void at_time(Time when, std::function<void()> action) { script_.push_back({when, std::move(action)}); }

    void run(Time until) {
        for (; now_ < until; now_ += tick) {
            for (std::size_t i = 0; i < script_.size(); ++i) {
                if (script_[i].second && script_[i].first <= now_) std::exchange(script_[i].second, nullptr)();
            }
            deliver();
            work();
            for (Index k = 0; k < graph_.nodes(); ++k) turn(k);
            if (watch_) watch_();
        }
    }
    /// One bulletin in eight takes up to so many ticks; 8 is the usual.
    void slow_down(std::uint64_t ticks) { slowest_ = ticks; }
    /// Called after every tick.
    void watch(std::function<void()> watch) { watch_ = std::move(watch); }
    /// Peers that are at least that far with an epoch.
    Index count(wire::Stage stage) const {
        Index result = 0;
        for (Index k = 0; k < graph_.nodes(); ++k) {
            if (alive(k) && machine(k).epoch().number > 0 && machine(k).member(k).stage >= stage) ++result;
        }
        return result;
    }

    bool alive(Index k) const { return peers_[static_cast<std::size_t>(k)].machine != nullptr; }
    const Membership& machine(Index k) const { return *peers_[static_cast<std::size_t>(k)].machine; }
    /// Epochs that anybody has ever decided, those that died afterwards included.
    const std::set<std::uint64_t>& decisions() const { return decisions_; }
    const std::vector<Index>& deciders() const { return deciders_; }
    Index nodes() const { return graph_.nodes(); }
    std::uint64_t below(std::uint64_t n) { return random_.below(n); }
    Time now() const { return now_; }

  private:
    struct Node {
        Incarnation process = 0;
        Time skew{0};
        std::unique_ptr<Membership> machine;
        std::uint64_t running = 0;
        bool left = false;
        std::optional<Time> failed = {};
    };
    struct Delivery {
        Time when;
        Index from;
        Index to;
        Incarnation sender;
        std::vector<PeerRecord> records;
    };
    struct Work {
        std::vector<Incarnation> members;
        std::vector<Edge> links;
        std::set<Incarnation> started;
        std::optional<Time> done;
        bool complete = false;
        bool over = false;
        std::map<Incarnation, Time> result_at;
    };

    Node& at(Index k) { return peers_[static_cast<std::size_t>(k)]; }
    bool connected(Index a, Index b) const {
        return alive(a) && alive(b) && !peers_[static_cast<std::size_t>(a)].left &&
               !peers_[static_cast<std::size_t>(b)].left && up_.contains({std::min(a, b), std::max(a, b)});
    }
    void reconnect(Index a, Index b) {
        if (at(a).machine) at(a).machine->reset(b);
        if (at(b).machine) at(b).machine->reset(a);
    }

    void turn(Index k) {
        Node& node = at(k);
        if (!node.machine || node.left) return;
        Membership& machine = *node.machine;
        const Time now = node.skew + now_;
        for (const Index j : graph_.neighbours(k)) {
            if (connected(k, j) && (now_ / tick + k) % 5 == 0) machine.heard(j, at(j).process, now);
        }
        machine.tick(now);
        for (const Index j : graph_.neighbours(k)) {
            if (!connected(k, j)) continue;
            auto records = machine.news(j, 3);
            if (records.empty()) continue;
            const int copies = below(5) == 0 ? 2 : 1;
            for (int copy = 0; copy < copies; ++copy) {
                const auto delay = below(8) == 0 ? below(slowest_) : below(8);
                under_way_.push_back({now_ + tick * static_cast<long>(1 + delay), k, j, node.process, records});
            }
        }
        const wire::Epoch& epoch = machine.epoch();
        if (epoch.number != node.running) {
            node.running = epoch.number;
            Work& work = works_[epoch.number];
            if (work.members.empty()) {
                work.members = epoch.members;
                work.links = machine.links();
            }
            ASSERT_EQ(work.members, epoch.members) << "one epoch, one list";
            work.started.insert(node.process);
        }
        if (machine.decided()) {
            if (decisions_.insert(epoch.number).second || std::ranges::find(deciders_, k) == deciders_.end()) {
                deciders_.push_back(k);
            }
            if (machine.may_leave()) node.left = true;
        }
        // It stays a moment to pass on why.
        if (machine.failure() && !node.failed) node.failed = now_;
        if (node.failed && now_ - *node.failed > link_deadline) node.left = true;
    }
    void deliver() {
        std::vector<Delivery> due;
        for (std::size_t i = 0; i < under_way_.size();) {
            if (under_way_[i].when > now_) {
                ++i;
                continue;
            }
            due.push_back(std::move(under_way_[i]));
            under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (const Delivery& d : due) {
            if (!connected(d.from, d.to) || at(d.from).process != d.sender) continue;
            at(d.to).machine->heard(d.from, d.sender, at(d.to).skew + now_);
            at(d.to).machine->receive(d.records, at(d.to).skew + now_);
        }
    }
    bool all_there(const Work& work) {
        for (Index k = 0; k < graph_.nodes(); ++k) {
            const Incarnation process = work.members[static_cast<std::size_t>(k)];
            if (process != 0 && (!alive(k) || at(k).process != process)) return false;
        }
        return std::ranges::all_of(work.links, [&](const Edge& edge) { return connected(edge.a, edge.b); });
    }
    void work() {
        for (auto& [number, work] : works_) {
            if (number == 0 || work.over) continue;
            const auto size = static_cast<std::size_t>(
                std::count_if(work.members.begin(), work.members.end(), [](Incarnation m) { return m != 0; }));
            if (!work.done && work.started.size() == size) work.done = now_ + tick * static_cast<long>(5 + below(60));
            if (!work.complete && work.done && now_ >= *work.done && all_there(work)) {
                work.complete = true;
                for (const Incarnation m : work.members) work.result_at[m] = now_ + tick * static_cast<long>(below(20));
            }
            for (Index k = 0; work.complete && k < graph_.nodes(); ++k) {
                const Incarnation process = work.members[static_cast<std::size_t>(k)];
                if (process == 0 || !alive(k) || at(k).process != process || now_ < work.result_at[process]) continue;
                at(k).machine->finished(number, {}, at(k).skew + now_);
            }
        }
    }

    Graph graph_;
    Random random_;
    std::vector<Node> peers_;
    std::set<std::pair<Index, Index>> up_;
    std::vector<Delivery> under_way_;
    std::map<std::uint64_t, Work> works_;
    std::vector<std::pair<Time, std::function<void()>>> script_;
    std::set<std::uint64_t> decisions_;
    std::vector<Index> deciders_;
    std::function<void()> watch_;
    std::uint64_t slowest_ = 8;
    Incarnation processes_ = 100;
    Time now_{0};
};

constexpr Time after_deadline = deadline + Time{500};

/// Whatever happened: everybody who lives has an answer, and at most one result counts. Processes that forgot what they
/// had promised can make another one with peers that never knew.
void expect_safe(const World& world, const std::string& what, bool forgetful = false) {
    if (!forgetful) {
        EXPECT_LE(world.decisions().size(), 1U) << what;
    }
    for (Index k = 0; k < world.nodes(); ++k) {
        if (!world.alive(k)) continue;
        const Membership& machine = world.machine(k);
        EXPECT_NE(machine.decided(), machine.failure().has_value()) << what << " peer " << k;
        if (machine.decided()) {
            EXPECT_GT(2 * machine.members().size(), static_cast<std::size_t>(world.nodes())) << what;
        }
    }
}

void expect_decided(const World& world, const std::vector<Index>& members, const std::string& what) {
    for (const Index k : members) {
        ASSERT_TRUE(world.alive(k));
        EXPECT_TRUE(world.machine(k).decided()) << what << " peer " << k;
        EXPECT_EQ(world.machine(k).members(), members) << what << " peer " << k;
    }
}

TEST(MembershipTest, EverybodyIsInWhenNothingHappens) {
    for (const char* graph : {"paper8", "ring", "complete", "star", "path"}) {
        World world(make_graph(graph, 8, 1), 1);
        world.run(Time{4000});
        expect_decided(world, {0, 1, 2, 3, 4, 5, 6, 7}, graph);
        world.run(after_deadline);
        expect_safe(world, graph);
    }
    World two(path_graph(2), 3);
    two.run(gather);
    expect_decided(two, {0, 1}, "two");
    World one(path_graph(1), 3);
    one.run(gather);
    expect_decided(one, {0}, "one");
}

TEST(MembershipTest, ALostPeerIsLeftOutWheneverItGoes) {
    for (int round = 0; round < 60; ++round) {
        World world(paper8_graph(), static_cast<std::uint64_t>(round));
        const Index victim = round % 2 == 0 ? 7 : 0;  // neither is needed to hold the rest together
        world.at_time(Time(30 * round), [&] { world.kill(victim); });
        world.run(after_deadline);
        expect_safe(world, std::to_string(round));
        for (Index k = 0; k < 8; ++k) {
            if (k == victim) continue;
            EXPECT_TRUE(world.machine(k).decided()) << round << " peer " << k;
        }
    }
}

TEST(MembershipTest, FiveFinishAndThreeSayWhy) {
    for (const Time when : {Time{0}, Time{400}}) {
        World world(paper8_graph(), 5);
        // Nodes 6, 7, 8 hang on the others by the link 5-6 alone.
        world.at_time(when, [&] { world.split({5, 6, 7}); });
        world.run(after_deadline);
        expect_safe(world, "split");
        if (when > Time{0}) continue;
        expect_decided(world, {0, 1, 2, 3, 4}, "split");
        for (const Index k : {5, 6, 7}) EXPECT_EQ(world.machine(k).failure(), Membership::Failure::deadline);
        EXPECT_EQ(world.machine(6).reachable(), (std::vector<Index>{5, 6, 7}));
    }
}

TEST(MembershipTest, HalfIsNoMajority) {
    World world(ring_graph(6), 5);
    world.split({0, 1, 2});
    world.run(after_deadline);
    expect_safe(world, "halves");
    EXPECT_TRUE(world.decisions().empty());
}

TEST(MembershipTest, ThoseLeftOutHearOfItOnceHealed) {
    World world(paper8_graph(), 7);
    world.split({5, 6, 7});
    world.at_time(gather + Time{600}, [&] { world.heal_all(); });
    world.run(gather + Time{1200});
    for (const Index k : {5, 6, 7}) {
        ASSERT_EQ(world.machine(k).failure(), Membership::Failure::left_out) << k;
        EXPECT_EQ(world.machine(k).others().members[0] != 0, true);
        EXPECT_EQ(world.machine(k).others().members[5], 0U);
    }
    world.run(after_deadline);
    expect_decided(world, {0, 1, 2, 3, 4}, "healed");
}

TEST(MembershipTest, AShortSilenceChangesNothing) {
    World world(paper8_graph(), 9);
    world.at_time(Time{300}, [&] { world.split({5, 6, 7}); });
    world.at_time(Time{300} + link_deadline / 2, [&] { world.heal_all(); });
    world.run(after_deadline);
    expect_decided(world, {0, 1, 2, 3, 4, 5, 6, 7}, "short");
}

/// The rest of the graph holds everybody together: the job goes on with all members over the other links.
TEST(MembershipTest, ALostLinkIsLeftOut) {
    for (const Time when : {Time{0}, Time{250}, Time{400}}) {
        World world(ring_graph(6), 11);
        world.at_time(when, [&] { world.cut(2, 3); });
        world.run(after_deadline);
        expect_decided(world, {0, 1, 2, 3, 4, 5}, "link");
        const auto links = world.machine(0).links();
        if (when < Time{400}) {
            EXPECT_EQ(links.size(), 5U);
            EXPECT_EQ(std::ranges::count(links, Edge{2, 3}), 0);
        }
    }
}

TEST(MembershipTest, ARestartedPeerWaitsForTheNextJob) {
    World world(complete_graph(5), 9);
    world.at_time(Time{200}, [&] { world.kill(2); });
    world.at_time(Time{260}, [&] { world.start(2); });
    world.run(after_deadline);
    expect_safe(world, "restart");
    for (const Index k : {0, 1, 3, 4}) EXPECT_TRUE(world.machine(k).decided());
}

/// Thousands of storms: kills, restarts, links that come and go, partitions, in every phase of a job.
TEST(MembershipTest, NoStormMakesTwoResultsOrNone) {
    int decided = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        bool restarts = false;
        Random choice(seed + 1000);
        const Index nodes = 3 + static_cast<Index>(choice.below(6));
        const char* graphs[] = {"ring", "complete", "random:0.5", "path", "grid"};
        const Graph graph = make_graph(graphs[choice.below(5)], nodes, seed);
        World world(graph, seed);
        const auto faults = choice.below(6);
        for (std::uint64_t f = 0; f < faults; ++f) {
            const Time when(choice.below(4000));
            const auto a = static_cast<Index>(choice.below(static_cast<std::uint64_t>(nodes)));
            const Time later = when + Time(choice.below(2000));
            switch (choice.below(4)) {
                case 0:
                    world.at_time(when, [&world, a] { world.kill(a); });
                    break;
                case 1:
                    restarts = true;
                    world.at_time(when, [&world, a] { world.kill(a); });
                    world.at_time(later, [&world, a] {
                        if (!world.alive(a)) world.start(a);
                    });
                    break;
                case 2: {
                    const Edge edge = graph.edges()[choice.below(graph.edges().size())];
                    world.at_time(when, [&world, edge] { world.cut(edge.a, edge.b); });
                    world.at_time(later, [&world, edge] { world.heal(edge.a, edge.b); });
                    break;
                }
                default: {
                    std::set<Index> side;
                    for (Index k = 0; k < nodes; ++k) {
                        if (choice.below(2) == 0) side.insert(k);
                    }
                    world.at_time(when, [&world, side] { world.split(side); });
                    world.at_time(later, [&world] { world.heal_all(); });
                }
            }
        }
        world.run(after_deadline + Time{6000});
        expect_safe(world, "seed " + std::to_string(seed), restarts);
        if (!world.decisions().empty()) ++decided;
        if (HasFailure()) break;
    }
    EXPECT_GT(decided, 125);
}

/// The moments in which some know that everybody has finished and others do not: whatever is lost then, those who find
/// a majority again must not make a second result.
TEST(MembershipTest, LossesInTheLastPhaseMakeNoSecondResult) {
    int decided = 0;
    int strikes = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Random choice(seed);
        const Index nodes = 3 + static_cast<Index>(choice.below(6));
        const char* graphs[] = {"ring", "complete", "star", "path"};
        World world(make_graph(graphs[choice.below(4)], nodes, seed), seed);
        const wire::Stage stage = choice.below(3) == 0 ? wire::Stage::finished : wire::Stage::informed;
        const auto moment = static_cast<Index>(1 + choice.below(static_cast<std::uint64_t>(nodes)));
        const auto kind = choice.below(3);
        world.slow_down(1 + choice.below(150));
        bool struck = false;
        world.watch([&] {
            if (struck || world.count(stage) < moment) return;
            struck = true;
            if (kind == 0) {
                world.kill(static_cast<Index>(choice.below(static_cast<std::uint64_t>(nodes))));
                return;
            }
            std::set<Index> side;
            for (Index k = 0; k < nodes; ++k) {
                if (choice.below(2) == 0) side.insert(k);
            }
            world.split(side);
            if (kind == 1) world.at_time(world.now() + Time(choice.below(3000)), [&] { world.heal_all(); });
        });
        world.run(after_deadline);
        strikes += struck ? 1 : 0;
        expect_safe(world, "seed " + std::to_string(seed));
        if (!world.decisions().empty()) ++decided;
        if (HasFailure()) break;
    }
    EXPECT_GT(strikes, 350);
    EXPECT_GT(decided, 200);
}

TEST(MembershipTest, RecordsOfAnotherNetworkAreRefused) {
    Membership machine({.graph = path_graph(3), .self = 0, .incarnation = 5, .features = {3}, .rows = 1}, Time{0});
    PeerRecord record{.peer = 1, .incarnation = 9, .version = 1, .features = {3}, .rows = 1, .hears = {0, 0, 0}};
    EXPECT_NO_THROW(machine.receive({record}, Time{1}));
    PeerRecord bad = record;
    bad.peer = 3;
    EXPECT_THROW(machine.receive({bad}, Time{1}), InputError);
    bad = record;
    bad.hears = {0, 0};
    EXPECT_THROW(machine.receive({bad}, Time{1}), InputError);
    bad = record;
    bad.proposal = {7, {1, 2}, std::vector<bool>(8)};
    EXPECT_THROW(machine.receive({bad}, Time{1}), InputError);
    bad = record;
    bad.committed = {7, {1, 2, 3}, std::vector<bool>(24)};
    EXPECT_THROW(machine.receive({record, bad}, Time{1}), InputError);
    EXPECT_TRUE(machine.ever_seen(1));
    EXPECT_FALSE(machine.ever_seen(2));
    EXPECT_THROW(machine.member(1), RunError);
}

/// A member that knows that all have finished may have decided, or told somebody who did: its epoch is decided instead
/// of a new one committed, whatever this peer knows itself.
TEST(MembershipTest, AnInformedMemberIsBelieved) {
    Membership machine({.graph = complete_graph(5),
                        .self = 0,
                        .incarnation = 1,
                        .features = {3},
                        .rows = 1,
                        .link_deadline = link_deadline,
                        .gather = gather,
                        .deadline = deadline},
                       Time{0});
    std::vector<PeerRecord> others;
    for (Index k = 1; k < 5; ++k) {
        others.push_back({.peer = k,
                          .incarnation = static_cast<Incarnation>(k + 1),
                          .version = 1,
                          .features = {3},
                          .rows = 1,
                          .hears = {1, 2, 3, 4, 5}});
        others.back().hears[static_cast<std::size_t>(k)] = 0;
        machine.heard(k, others.back().incarnation, Time{0});
    }
    const auto update = [&](Index k, const std::function<void(PeerRecord&)>& change, Time now) {
        PeerRecord& record = others[static_cast<std::size_t>(k - 1)];
        change(record);
        ++record.version;
        machine.receive({record}, now);
    };
    machine.receive(others, Time{1});
    const auto own = [&] { return machine.news(1, 100).back(); };
    const wire::Epoch first = own().proposal;
    ASSERT_GT(first.number, 0U);
    for (Index k = 1; k < 5; ++k)
        update(
            k, [&](PeerRecord& r) { r.promised = first.number; }, Time{2});
    ASSERT_EQ(machine.epoch(), first);
    machine.finished(first.number, {}, Time{3});
    for (Index k = 1; k < 5; ++k)
        update(
            k, [&](PeerRecord& r) { r.committed = first; }, Time{4});
    // Peers 4 and 5 are gone, having told peer 2 alone that they have finished.
    Time now = link_deadline + Time{5};
    for (Index k = 1; k < 3; ++k) machine.heard(k, static_cast<Incarnation>(k + 1), now);
    for (Index k = 1; k < 3; ++k)
        update(
            k, [](PeerRecord& r) { r.hears[3] = r.hears[4] = 0; }, now);
    now += link_deadline / 2;
    machine.tick(now);
    const wire::Epoch second = own().proposal;
    ASSERT_GT(second.number, first.number);
    ASSERT_EQ(second.members, (std::vector<Incarnation>{1, 2, 3, 0, 0}));
    const auto answer = [&](wire::Stage stage) {
        return [&, stage](PeerRecord& r) {
            r.promised = second.number;
            r.stage = stage;
            r.report.emplace();
        };
    };
    update(2, answer(wire::Stage::finished), now);
    EXPECT_FALSE(machine.decided());
    update(1, answer(wire::Stage::informed), now);
    EXPECT_TRUE(machine.decided());
    EXPECT_EQ(machine.epoch(), first);
}

/// A commit can overtake the record of a member that is not a neighbour.
TEST(MembershipTest, KnowsWhetherEveryMemberIsKnown) {
    Membership machine({.graph = path_graph(3),
                        .self = 2,
                        .incarnation = 13,
                        .features = {3},
                        .rows = 1,
                        .link_deadline = link_deadline,
                        .gather = gather,
                        .deadline = deadline},
                       Time{0});
    machine.heard(1, 12, Time{0});
    const wire::Epoch epoch{1 << 20, {11, 12, 13}, {true, true, false, false, false, false, false, false}};
    PeerRecord proposer{.peer = 1,
                        .incarnation = 12,
                        .version = 1,
                        .features = {3},
                        .rows = 1,
                        .hears = {11, 0, 13},
                        .proposal = epoch};
    machine.receive({proposer}, Time{1});
    proposer.version = 2;
    proposer.promised = epoch.number;
    proposer.committed = epoch;
    machine.receive({proposer}, Time{2});
    ASSERT_EQ(machine.epoch(), epoch);
    EXPECT_FALSE(machine.knows_members());
    machine.receive({{.peer = 0, .incarnation = 11, .version = 1, .features = {3}, .rows = 1, .hears = {0, 12, 0}}},
                    Time{3});
    EXPECT_TRUE(machine.knows_members());
    EXPECT_EQ(machine.member(0).incarnation, 11U);
}

TEST(MembershipTest, NewsIsGivenOncePerConnection) {
    Membership machine({.graph = path_graph(3), .self = 1, .incarnation = 5, .features = {3}, .rows = 1}, Time{0});
    EXPECT_EQ(machine.news(0, 10).size(), 1U);
    EXPECT_TRUE(machine.news(0, 10).empty());
    const PeerRecord other{.peer = 2, .incarnation = 9, .version = 1, .features = {3}, .rows = 1, .hears = {0, 5, 0}};
    machine.receive({other}, Time{1});
    ASSERT_EQ(machine.news(0, 10).size(), 1U);
    machine.receive({other}, Time{2});
    EXPECT_TRUE(machine.news(0, 10).empty());
    machine.reset(0);
    EXPECT_EQ(machine.news(0, 1).size(), 1U);
    EXPECT_EQ(machine.news(0, 10).size(), 1U);
}

/// A forgotten process must not be mistaken for one that restarted.
TEST(MembershipTest, OldProcessesOfAPeerDoNotReplaceNewOnes) {
    Membership machine({.graph = path_graph(2), .self = 0, .incarnation = 5, .features = {3}, .rows = 1}, Time{0});
    for (Incarnation process = 10; process < 30; ++process) {
        machine.heard(1, process, Time{1});
        machine.receive(
            {{.peer = 1, .incarnation = process, .version = 1, .features = {3}, .rows = 1, .hears = {5, 0}}}, Time{1});
    }
    EXPECT_EQ(machine.reachable(), (std::vector<Index>{0, 1}));
}

}  // namespace
}  // namespace couplet::net
