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
    /// What that peer says of itself is changed so before anybody gets it.
    void falsify(Index k, std::function<void(PeerRecord&)> change) { false_[k] = std::move(change); }
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
            for (PeerRecord& record : records) {
                if (record.peer == k && false_.contains(k)) false_[k](record);
            }
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
    std::map<Index, std::function<void(PeerRecord&)>> false_;
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

void say_nothing(PeerRecord& record) {
    record.promised = 0;
    record.proposal = record.committed = {};
    record.stage = wire::Stage::working;
    record.report.reset();
}

/// One that beats and does nothing else, whether it is its turn to propose, to promise or to commit.
TEST(MembershipTest, NobodyIsWaitedForForEver) {
    for (const char* graph : {"complete", "ring", "paper8"}) {
        for (const Index idle : {0, 1, 7}) {
            for (const bool promises : {false, true}) {
                World world(make_graph(graph, 8, 1), 17);
                world.falsify(idle, [promises](PeerRecord& record) {
                    if (!promises) return say_nothing(record);
                    record.committed = {};
                    record.stage = wire::Stage::working;
                    record.report.reset();
                });
                world.run(after_deadline);
                const std::string what =
                    std::string(graph) + " " + std::to_string(idle) + (promises ? " promises" : "");
                expect_safe(world, what);
                for (Index k = 0; k < 8; ++k) {
                    // Who promises and does not propose takes part until it is to finish: peers trust each other there.
                    if (k != idle && (!promises || idle == 0)) {
                        EXPECT_TRUE(world.machine(k).decided()) << what << " peer " << k;
                        EXPECT_EQ(world.machine(k).members().size(), 7U) << what << " peer " << k;
                    }
                }
            }
        }
    }
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

/// One machine of a complete network of five, peer 1 unless told otherwise, and what it hears from scripted others.
class Scripted {
  public:
    explicit Scripted(Index self = 0, const Graph& graph = complete_graph(5))
        : self_(self),
          machine({.graph = graph,
                   .self = self,
                   .incarnation = process_of(self),
                   .features = {3},
                   .rows = 1,
                   .link_deadline = link_deadline,
                   .gather = gather,
                   .deadline = deadline},
                  Time{0}) {
        for (Index k = 0; k < graph.nodes(); ++k) {
            PeerRecord record{.peer = k, .incarnation = process_of(k), .version = 1, .features = {3}, .rows = 1};
            record.hears.assign(static_cast<std::size_t>(graph.nodes()), 0);
            for (const Index j : graph.neighbours(k)) record.hears[static_cast<std::size_t>(j)] = process_of(j);
            records_.push_back(std::move(record));
        }
    }
    static Incarnation process_of(Index k) { return static_cast<Incarnation>(11 + k); }
    PeerRecord& record(Index k) { return records_[static_cast<std::size_t>(k)]; }
    /// Both ways: this peer hears k, and k's record says what k hears.
    void meet(Index k, Time now = Time{1}) {
        machine.heard(k, process_of(k), now);
        tell(k, now);
    }
    void tell(Index k, Time now = Time{1}) {
        machine.receive({record(k)}, now);
        ++record(k).version;
    }
    void tell(Index k, const std::function<void(PeerRecord&)>& change, Time now = Time{1}) {
        change(record(k));
        tell(k, now);
    }
    void meet_all(Time now = Time{1}) {
        for (Index k = 0; k < static_cast<Index>(records_.size()); ++k) {
            if (k != self_) meet(k, now);
        }
    }
    PeerRecord own() {
        machine.reset(self_ == 0 ? 1 : 0);
        return machine.news(self_ == 0 ? 1 : 0, 100).back();
    }
    /// Everybody has promised and begun the first epoch.
    wire::Epoch begin_first() {
        meet_all();
        const wire::Epoch first = own().proposal;
        for (Index k = 1; k < 5; ++k)
            tell(
                k, [&](PeerRecord& r) { r.promised = first.number; }, Time{2});
        for (Index k = 1; k < 5; ++k)
            tell(
                k, [&](PeerRecord& r) { r.committed = first; }, Time{2});
        return first;
    }

  private:
    Index self_;
    std::vector<PeerRecord> records_;

  public:
    Membership machine;
};

const wire::Epoch none{};

TEST(MembershipTest, ALinkCountsWhenBothEndsHearEachOther) {
    Scripted deaf;  // peer 2 does not hear this peer
    deaf.record(1).hears[0] = 0;
    deaf.meet(1);
    EXPECT_EQ(deaf.machine.reachable(), (std::vector<Index>{0}));
    Scripted unheard;  // this peer does not hear peer 2
    unheard.tell(1);
    EXPECT_EQ(unheard.machine.reachable(), (std::vector<Index>{0}));
    Scripted stale;  // peer 2 hears a process of this peer that is gone
    stale.record(1).hears[0] = 99;
    stale.meet(1);
    EXPECT_EQ(stale.machine.reachable(), (std::vector<Index>{0}));
    Scripted both;
    both.meet(1);
    EXPECT_EQ(both.machine.reachable(), (std::vector<Index>{0, 1}));
    // Among others: peer 2 says that it hears peer 3, who does not hear peer 2.
    Scripted far(0, path_graph(4));
    far.record(2).hears[1] = 0;
    far.meet(1);
    far.tell(2);
    EXPECT_EQ(far.machine.reachable(), (std::vector<Index>{0, 1}));
    far.tell(2, [](PeerRecord& r) { r.hears[1] = Scripted::process_of(1); });
    EXPECT_EQ(far.machine.reachable(), (std::vector<Index>{0, 1, 2}));
}

/// A link that carries one way only is none of the epoch's, though both its ends are members.
TEST(MembershipTest, AnEpochHasOnlyTheLinksThatCarryBothWays) {
    for (const bool forth : {false, true}) {
        for (const bool back : {false, true}) {
            Scripted one;
            if (!forth) one.record(1).hears[2] = 0;
            if (!back) one.record(2).hears[1] = 0;
            one.meet_all();
            one.meet_all(gather);
            one.machine.tick(gather + link_deadline / 2);
            const wire::Epoch proposed = one.own().proposal;
            ASSERT_GT(proposed.number, 0U);
            const auto edges = complete_graph(5).edges();
            for (std::size_t i = 0; i < edges.size(); ++i) {
                EXPECT_EQ(proposed.links[i], edges[i] != (Edge{1, 2}) || (forth && back)) << i << forth << back;
            }
            for (std::size_t i = edges.size(); i < proposed.links.size(); ++i) EXPECT_FALSE(proposed.links[i]);
            EXPECT_EQ(proposed.links.size(), 16U) << "whole bytes";
        }
    }
}

TEST(MembershipTest, OnlyNeighboursWithAProcessAreHeard) {
    Scripted end(0, path_graph(3));
    end.machine.heard(2, 13, Time{1});
    EXPECT_EQ(end.own().hears, (std::vector<Incarnation>{0, 0, 0})) << "no neighbour";
    end.machine.heard(1, 0, Time{1});
    EXPECT_EQ(end.own().hears, (std::vector<Incarnation>{0, 0, 0})) << "no process";
    end.machine.heard(1, 12, Time{1});
    EXPECT_EQ(end.own().hears, (std::vector<Incarnation>{0, 12, 0}));
    EXPECT_EQ(end.own().version, 2U) << "others are told of the change";
    end.machine.heard(1, 12, Time{2});
    EXPECT_EQ(end.own().version, 2U) << "and not of what has not changed";
}

TEST(MembershipTest, SilenceOfTheDeadlineIsStillHeard) {
    Scripted one(0, path_graph(2));
    one.machine.heard(1, 12, Time{5});
    one.machine.tick(Time{5} + link_deadline);
    EXPECT_EQ(one.own().hears[1], 12U);
    one.machine.tick(Time{6} + link_deadline);
    EXPECT_EQ(one.own().hears[1], 0U);
}

TEST(MembershipTest, EachFieldOfARecordIsChecked) {
    const auto refused = [](const std::function<void(PeerRecord&)>& change) {
        Scripted one;
        one.record(1).proposal = {7, {11, 12, 13, 14, 15}, std::vector<bool>(16)};
        one.record(1).committed = one.record(1).proposal;
        change(one.record(1));
        try {
            one.tell(1);
        } catch (const InputError& error) {
            EXPECT_FALSE(one.machine.ever_seen(1)) << "nothing of it is kept";
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused([](PeerRecord&) {}), "");
    const std::string expected = "bulletin: a record of another network; expected 5 provisioned peers";
    EXPECT_EQ(refused([](PeerRecord& r) { r.peer = -1; }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.peer = 5; }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.incarnation = 0; }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.hears.pop_back(); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.hears.push_back(0); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.proposal.members.pop_back(); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.proposal.links.resize(8); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.proposal.links.resize(24); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.committed.members.push_back(0); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.committed.links.clear(); }), expected);
    EXPECT_EQ(refused([](PeerRecord& r) { r.proposal = r.committed = none; }), "") << "no epoch has no members";
}

TEST(MembershipTest, ARecordGivesWayToANewerOneOnly) {
    Scripted one(0, path_graph(2));
    one.meet(1);
    one.record(1).version = 5;
    one.tell(1, [](PeerRecord& r) { r.rows = 7; });
    one.record(1).version = 5;
    one.tell(1, [](PeerRecord& r) { r.rows = 8; });
    one.record(1).version = 4;
    one.tell(1, [](PeerRecord& r) { r.rows = 9; });
    ASSERT_GT(one.own().proposal.number, 0U);
    one.record(1).version = 6;
    one.tell(1, [&](PeerRecord& r) {
        r.rows = 7;
        r.promised = one.own().proposal.number;
    });
    EXPECT_EQ(one.machine.member(1).rows, 7);
    // Nobody tells a peer about itself.
    one.machine.receive({{.peer = 0, .incarnation = 99, .version = 9, .features = {3}, .rows = 1, .hears = {0, 0}}},
                        Time{2});
    EXPECT_EQ(one.machine.member(0).incarnation, Scripted::process_of(0));
}

TEST(MembershipTest, ANumberIsAboveAllThatWasEverHeardOf) {
    const auto proposed_after = [](const std::function<void(PeerRecord&)>& change) {
        Scripted one;
        change(one.record(4));
        one.meet_all();
        return one.own().proposal.number;
    };
    const std::uint64_t high = std::uint64_t{77} << 20;
    const wire::Epoch other{high, {0, 12, 13, 14, 15}, std::vector<bool>(16)};
    EXPECT_EQ(proposed_after([](PeerRecord&) {}), (std::uint64_t{1} << 20) + 11);
    EXPECT_EQ(proposed_after([&](PeerRecord& r) { r.promised = high; }), (std::uint64_t{78} << 20) + 11);
    EXPECT_EQ(proposed_after([&](PeerRecord& r) { r.proposal = other; }), (std::uint64_t{78} << 20) + 11);
}

/// One peer alone cannot use up the numbers: after the highest of all nobody could propose anything.
TEST(MembershipTest, NobodyTakesTheNumbersFromTheOthers) {
    constexpr std::uint64_t far = std::uint64_t{1} << 36;
    const auto said_of = [](const std::function<void(PeerRecord&)>& change) {
        Scripted one;
        change(one.record(1));
        try {
            one.tell(1);
        } catch (const InputError& error) {
            EXPECT_FALSE(one.machine.ever_seen(1));
            one.record(1).promised = 0;
            one.record(1).proposal = one.record(1).committed = none;
            one.meet_all();
            EXPECT_GT(one.own().proposal.number, 0U) << "the others go on";
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string bound = "; expected a number below 68719476736";
    EXPECT_EQ(said_of([](PeerRecord& r) { r.promised = far - 1; }), "");
    EXPECT_EQ(said_of([](PeerRecord& r) { r.promised = far; }),
              "bulletin: an epoch far ahead of all others: 68719476736" + bound);
    EXPECT_EQ(said_of([](PeerRecord& r) { r.promised = (std::uint64_t{1} << 62) - 1; }),
              "bulletin: an epoch far ahead of all others: 4611686018427387903" + bound);
    const auto epoch = [](std::uint64_t number) {
        return wire::Epoch{number, {11, 12, 13, 14, 15}, std::vector<bool>(16)};
    };
    EXPECT_NE(said_of([&](PeerRecord& r) { r.proposal = epoch(far); }).find(bound), std::string::npos);
    EXPECT_NE(said_of([&](PeerRecord& r) { r.committed = epoch(far); }).find(bound), std::string::npos);
}

TEST(MembershipTest, OnlyAnEpochWithThisProcessIsPromised) {
    Scripted one(1);
    one.meet_all();
    const auto promised_after = [&](std::uint64_t number, std::vector<Incarnation> members) {
        one.tell(0, [&](PeerRecord& r) { r.proposal = {number, std::move(members), std::vector<bool>(16)}; });
        return one.own().promised;
    };
    EXPECT_EQ(promised_after(100, {11, 0, 13, 14, 15}), 0U) << "without this peer";
    EXPECT_EQ(promised_after(101, {11, 99, 13, 14, 15}), 0U) << "with another process of it";
    EXPECT_EQ(promised_after(102, {11, 12, 13, 14, 15}), 102U);
    EXPECT_EQ(promised_after(90, {11, 12, 13, 14, 15}), 102U) << "never a lower one";
}

TEST(MembershipTest, OnlyThePromisedEpochIsBegun) {
    const auto begun = [](const std::function<void(PeerRecord&, wire::Epoch&)>& change) {
        Scripted one(1);
        one.meet_all();
        wire::Epoch epoch{102, {11, 12, 13, 14, 15}, std::vector<bool>(16)};
        one.tell(0, [&](PeerRecord& r) { r.proposal = epoch; });
        one.tell(0, [&](PeerRecord& r) {
            change(r, epoch);
            r.committed = epoch;
        });
        return one.machine.epoch().number;
    };
    EXPECT_EQ(begun([](PeerRecord&, wire::Epoch&) {}), 102U);
    EXPECT_EQ(begun([](PeerRecord&, wire::Epoch& e) { e.number = 101; }), 0U) << "another than was promised";
    EXPECT_EQ(begun([](PeerRecord&, wire::Epoch& e) { e.number = 103; }), 0U);
    EXPECT_EQ(begun([](PeerRecord&, wire::Epoch& e) { e.members[1] = 0; }), 0U) << "without this peer";
}

TEST(MembershipTest, AnEpochBeginsWhenEverybodyHasPromised) {
    for (Index missing = 1; missing < 5; ++missing) {
        Scripted one;
        one.meet_all();
        const wire::Epoch first = one.own().proposal;
        for (Index k = 1; k < 5; ++k) {
            if (k != missing) one.tell(k, [&](PeerRecord& r) { r.promised = first.number; });
        }
        EXPECT_EQ(one.machine.epoch().number, 0U) << missing;
        one.tell(missing, [&](PeerRecord& r) { r.promised = first.number - 1; });
        EXPECT_EQ(one.machine.epoch().number, 0U) << missing;
        one.tell(missing, [&](PeerRecord& r) { r.promised = first.number; });
        EXPECT_EQ(one.machine.epoch(), first) << missing;
        EXPECT_EQ(one.machine.members(), (std::vector<Index>{0, 1, 2, 3, 4}));
        EXPECT_EQ(one.machine.links().size(), 10U);
    }
}

TEST(MembershipTest, OnlyTheFirstOfAMajorityProposes) {
    Scripted second(1);
    second.meet_all();
    EXPECT_EQ(second.own().proposal.number, 0U) << "peer 1 is there and comes first";
    Scripted two;
    two.meet(1);
    two.meet(1, gather);
    two.machine.tick(gather + link_deadline);
    EXPECT_EQ(two.own().proposal.number, 0U) << "two of five";
    for (const Index missing : {3, 4}) {
        Scripted three;  // the others are waited for
        for (Index k = 1; k < missing; ++k) three.meet(k);
        Time now = link_deadline / 2;
        for (; now < gather; now += link_deadline / 2) {
            for (Index k = 1; k < missing; ++k) three.machine.heard(k, Scripted::process_of(k), now);
            EXPECT_EQ(three.own().proposal.number, 0U) << now.count();
        }
        for (Index k = 1; k < missing; ++k) three.machine.heard(k, Scripted::process_of(k), gather);
        three.machine.tick(gather - Time{1});
        EXPECT_EQ(three.own().proposal.number, 0U);
        three.machine.tick(gather);
        std::vector<Incarnation> expected{11, 12, 13, 14, 0};
        if (missing == 3) expected[3] = 0;
        EXPECT_EQ(three.own().proposal.members, expected);
    }
}

TEST(MembershipTest, TheNextProposesWhenTheFirstDoesNot) {
    Scripted second(1);
    second.meet_all();
    const auto wait_until = [&](Time now) {
        for (const Index k : {0, 2, 3, 4}) second.machine.heard(k, Scripted::process_of(k), now);
        second.machine.tick(now);
        return second.own().proposal;
    };
    EXPECT_EQ(wait_until(link_deadline).number, 0U);
    const wire::Epoch mine = wait_until(link_deadline + Time{1});
    ASSERT_GT(mine.number, 0U);
    EXPECT_EQ(mine.members, (std::vector<Incarnation>{11, 12, 13, 14, 15})) << "the first may only be slow";
    // It was: two proposals at once, and everybody goes with the higher.
    const wire::Epoch other{mine.number + 1, mine.members, mine.links};
    second.tell(
        0, [&](PeerRecord& r) { r.proposal = other, r.promised = other.number; }, link_deadline + Time{2});
    EXPECT_EQ(second.own().promised, other.number);
    EXPECT_EQ(wait_until(link_deadline * 2), mine) << "it is not outbid";
    for (const Index k : {2, 3, 4}) {
        second.tell(
            k, [&](PeerRecord& r) { r.promised = other.number; }, link_deadline * 2);
    }
    second.tell(
        0, [&](PeerRecord& r) { r.committed = other; }, link_deadline * 2);
    EXPECT_EQ(second.machine.epoch(), other);
}

TEST(MembershipTest, WhoDoesNotPromiseIsLeftOutOfAMajority) {
    for (const Index silent : {1, 2}) {  // so many of five
        Scripted one;
        one.meet_all();
        const wire::Epoch first = one.own().proposal;
        for (Index k = silent + 1; k < 5; ++k) one.tell(k, [&](PeerRecord& r) { r.promised = first.number; });
        const auto wait_until = [&](Time now) {
            for (Index k = 1; k < 5; ++k) one.machine.heard(k, Scripted::process_of(k), now);
            one.machine.tick(now);
            return one.own().proposal;
        };
        EXPECT_EQ(wait_until(link_deadline), first);
        for (const Time more : {Time{1}, Time{2}}) wait_until(link_deadline + more);
        EXPECT_EQ(
            wait_until(link_deadline + link_deadline / 2).members,
            silent == 1 ? (std::vector<Incarnation>{11, 0, 13, 14, 15}) : (std::vector<Incarnation>{11, 0, 0, 14, 15}));
    }
    Scripted two(0, path_graph(2));
    two.meet(1);
    const wire::Epoch both = two.own().proposal;
    for (Time now = Time{2}; now < link_deadline * 5; now += link_deadline / 4) {
        two.machine.heard(1, Scripted::process_of(1), now);
        two.machine.tick(now);
    }
    EXPECT_EQ(two.own().proposal, both) << "nobody is left to go on with";
    two.tell(
        1, [&](PeerRecord& r) { r.promised = both.number; }, link_deadline * 5);
    EXPECT_EQ(two.machine.epoch(), both);
}

TEST(MembershipTest, ToldAgainARecordIsNoNews) {
    Scripted one;
    PeerRecord record = one.record(1);
    record.version = 5;
    EXPECT_TRUE(one.machine.is_news(record));
    one.machine.receive({record}, Time{1});
    EXPECT_FALSE(one.machine.is_news(record));
    record.version = 4;
    EXPECT_FALSE(one.machine.is_news(record));
    record.version = 6;
    EXPECT_TRUE(one.machine.is_news(record));
    record.incarnation = 3;
    EXPECT_TRUE(one.machine.is_news(record)) << "another process";
    EXPECT_FALSE(one.machine.is_news(one.own())) << "of this peer itself";
    record.peer = 5;
    EXPECT_TRUE(one.machine.is_news(record)) << "of nobody: to be refused by those who check it";
    // Older than all processes that are kept: it would not be.
    for (const Incarnation process : {20U, 21U, 22U, 23U}) {
        PeerRecord later = one.record(1);
        later.incarnation = process;
        one.machine.receive({later}, Time{1});
    }
    record = one.record(1);
    EXPECT_FALSE(one.machine.is_news(record));
}

TEST(MembershipTest, AResultNeedsEverybodyAndAMajorityThatKnows) {
    Scripted one;
    const wire::Epoch first = one.begin_first();
    ASSERT_EQ(one.machine.epoch(), first);
    const auto stage = [&] { return one.own().stage; };
    one.machine.finished(first.number + 1, {}, Time{3});
    EXPECT_EQ(stage(), wire::Stage::working) << "of another epoch";
    one.machine.finished(first.number, {.rank = 4}, Time{3});
    EXPECT_EQ(stage(), wire::Stage::finished);
    EXPECT_EQ(one.own().report->rank, 4);
    one.machine.finished(first.number, {.rank = 5}, Time{3});
    EXPECT_EQ(one.own().report->rank, 4) << "told once";
    const auto reach = [](wire::Stage reached) {
        return [reached](PeerRecord& r) {
            r.stage = reached;
            r.report.emplace();
        };
    };
    for (const Index k : {1, 2, 3}) one.tell(k, reach(wire::Stage::finished), Time{4});
    EXPECT_EQ(stage(), wire::Stage::finished) << "peer 5 still works";
    one.tell(
        4,
        [&](PeerRecord& r) {
            reach(wire::Stage::finished)(r);
            r.committed.number -= 1;
        },
        Time{4});
    EXPECT_EQ(stage(), wire::Stage::finished) << "peer 5 has finished another epoch";
    one.tell(
        4, [&](PeerRecord& r) { r.committed = first; }, Time{4});
    EXPECT_EQ(stage(), wire::Stage::informed);
    one.tell(1, reach(wire::Stage::informed), Time{5});
    EXPECT_EQ(stage(), wire::Stage::informed) << "two of five know";
    EXPECT_FALSE(one.machine.decided());
    one.tell(2, reach(wire::Stage::informed), Time{5});
    EXPECT_TRUE(one.machine.decided());
    EXPECT_FALSE(one.machine.failure());
}

TEST(MembershipTest, OneThatHasDecidedIsBelieved) {
    Scripted one;
    const wire::Epoch first = one.begin_first();
    const auto decide = [](PeerRecord& r) {
        r.stage = wire::Stage::decided;
        r.report.emplace();
    };
    one.tell(3, decide, Time{3});
    EXPECT_FALSE(one.machine.decided()) << "this peer has no result yet";
    one.machine.finished(first.number, {}, Time{4});
    EXPECT_TRUE(one.machine.decided());
    EXPECT_FALSE(one.machine.may_leave()) << "its neighbours do not know";
    for (const Index k : {1, 2, 4}) {
        EXPECT_FALSE(one.machine.knows_decision(k));
        one.tell(k, decide, Time{5});
        EXPECT_TRUE(one.machine.knows_decision(k));
    }
    EXPECT_TRUE(one.machine.may_leave());
}

/// A peer that has promised a later epoch says nothing more of the one before.
TEST(MembershipTest, APromiseFreezesTheEpochBefore) {
    Scripted one(1);
    one.meet_all();
    const wire::Epoch first{102, {11, 12, 13, 14, 15}, std::vector<bool>(16)};
    one.tell(0, [&](PeerRecord& r) { r.proposal = first; });
    one.tell(0, [&](PeerRecord& r) { r.promised = r.committed.number = 102, r.committed = first; });
    ASSERT_EQ(one.machine.epoch().number, 102U);
    one.tell(0, [&](PeerRecord& r) { r.proposal = {200, {11, 12, 13, 0, 0}, std::vector<bool>(16)}; });
    ASSERT_EQ(one.own().promised, 200U);
    one.machine.finished(102, {}, Time{3});
    EXPECT_EQ(one.own().stage, wire::Stage::working);
}

TEST(MembershipTest, ThoseLeftOutGiveUpAtOnceAndTheOthersAtTheDeadline) {
    Scripted out(1);
    out.meet_all();
    const wire::Epoch others{102, {11, 0, 13, 14, 15}, std::vector<bool>(16)};
    out.tell(0, [&](PeerRecord& r) { r.promised = 102, r.committed = others; });
    out.tell(2, [&](PeerRecord& r) { r.promised = 102; });
    EXPECT_FALSE(out.machine.failure()) << "two of five say so: it may be a lie";
    out.tell(3, [&](PeerRecord& r) { r.promised = 102; });
    EXPECT_EQ(out.machine.failure(), Membership::Failure::left_out);
    EXPECT_EQ(out.machine.others(), others);
    Scripted alone;
    alone.machine.tick(deadline - Time{1});
    EXPECT_FALSE(alone.machine.failure());
    alone.machine.tick(deadline);
    EXPECT_EQ(alone.machine.failure(), Membership::Failure::deadline);
}

/// Somebody has kept what four earlier processes of a peer have signed, and tells it again and again.
TEST(MembershipTest, WhatEarlierProcessesSaidDoesNotReplaceTheLatest) {
    Membership machine({.graph = path_graph(3), .self = 0, .incarnation = 5, .features = {3}, .rows = 1}, Time{0});
    const auto record = [](Incarnation process) {
        return PeerRecord{
            .peer = 1, .incarnation = process, .version = 1, .features = {3}, .rows = 1, .hears = {5, 0, 0}};
    };
    machine.heard(1, 100, Time{0});
    machine.receive({record(100)}, Time{0});
    EXPECT_EQ(machine.reachable(), (std::vector<Index>{0, 1}));
    for (const Incarnation old : {90U, 91U, 92U, 93U, 94U}) machine.receive({record(old)}, Time{1});
    EXPECT_EQ(machine.reachable(), (std::vector<Index>{0, 1}));
}

TEST(MembershipTest, NewsOfANeighbourIsNotForItself) {
    Scripted one;
    one.meet_all();
    for (Index k = 1; k < 5; ++k) {
        one.machine.reset(k);
        EXPECT_TRUE(one.machine.has_news(k));
        const auto records = one.machine.news(k, 100);
        EXPECT_EQ(records.size(), 4U);
        for (const PeerRecord& record : records) EXPECT_NE(record.peer, k);
        EXPECT_EQ(records.back().peer, 0) << "what was concluded comes after what it was concluded from";
        EXPECT_FALSE(one.machine.has_news(k));
    }
    one.tell(2, [](PeerRecord& r) { r.rows = 2; });
    ASSERT_EQ(one.machine.news(1, 100).size(), 1U);
    EXPECT_FALSE(one.machine.has_news(2));
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
