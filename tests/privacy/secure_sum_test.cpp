#include "couplet/privacy/secure_sum.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/privacy/shamir.hpp"
#include "sum_keys.hpp"

namespace couplet {
namespace {

using Vector = std::vector<std::uint64_t>;

/// Steps at which a client can be lost: it does not answer that one, nor any later.
enum class Lost { never, before_keys, before_shares, before_numbers, before_signature, before_unmasking };

/// n clients and a coordinator; `tamper` may change what the coordinator tells.
struct Cohort {
    explicit Cohort(int n, int threshold, std::size_t length = 40, Ring ring = Ring(54), SumDemands wanted = {},
                    int sums = 1)
        : identities(static_cast<std::size_t>(n)), demands(wanted), lost(static_cast<std::size_t>(n), Lost::never) {
        keys.job = Secret::random().bytes();
        keys.threshold = threshold;
        keys.sums = sums;
        terms.stretches = {{static_cast<std::int64_t>(length), ring, 0.5}};
        Random random(static_cast<std::uint64_t>(n));
        for (int k = 0; k < n; ++k) {
            Vector x(length);
            for (auto& value : x) value = ring.reduced(random.next());
            inputs.push_back(std::move(x));
        }
    }
    Verifier verifier() const {
        return [this](Party party, Bytes message, const Signature& signature) {
            return party >= 0 && party < static_cast<Party>(identities.size()) &&
                   verify_signature(identities[static_cast<std::size_t>(party)].verifying(), message, signature);
        };
    }
    bool there(Party party, Lost step) const {
        const Lost when = lost[static_cast<std::size_t>(party)];
        return when == Lost::never || when > step;
    }
    Vector expected(const std::set<Party>& of) const {
        Vector sum(inputs.front().size(), 0);
        for (const Party party : of) {
            const Vector& own = inputs[static_cast<std::size_t>(party)];
            std::size_t at = 0;
            for (const Stretch& stretch : terms.stretches) {
                for (std::int64_t i = 0; i < stretch.numbers; ++i, ++at) sum[at] = stretch.ring.sum(sum[at], own[at]);
            }
        }
        return sum;
    }
    std::set<Party> numbers_from() const {
        std::set<Party> alive;
        for (Party p = 0; p < static_cast<Party>(identities.size()); ++p) {
            if (there(p, Lost::before_numbers)) alive.insert(p);
        }
        return alive;
    }
    void each(Lost step, const std::function<void(Party, SecureSumClient&)>& body) {
        for (Party p = 0; p < static_cast<Party>(identities.size()); ++p) {
            if (there(p, step)) body(p, clients[static_cast<std::size_t>(p)]);
        }
    }

    void agree() {
        coordinator.emplace(keys, verifier());
        clients.clear();
        for (Party p = 0; p < static_cast<Party>(identities.size()); ++p) {
            const Identity& identity = identities[static_cast<std::size_t>(p)];
            clients.emplace_back(
                p, told ? *told : keys, demands, [&identity](Bytes text) { return identity.sign(text); }, verifier());
        }
        each(Lost::before_keys, [&](Party p, auto& client) {
            auto own = client.advertise();
            if (replayed) own = *replayed;
            coordinator->take_advertisement(p, std::move(own));
        });
        Roster roster = coordinator->roster();
        if (on_roster) on_roster(roster);
        seen_roster = roster;
        each(Lost::before_shares, [&](Party p, auto& client) { coordinator->take_shares(p, client.seal(roster)); });
        each(Lost::before_shares, [&](Party p, auto& client) {
            auto shares = coordinator->shares_for(p);
            if (on_shares) on_shares(p, shares);
            client.open(shares);
        });
    }
    Vector add(std::int64_t number, std::set<Party> members) {
        terms.sum = number;
        coordinator->begin_sum(terms, members);
        each(Lost::before_numbers, [&](Party p, auto& client) {
            if (!members.contains(p)) return;
            SumTerms own = terms;
            std::set<Party> among = members;
            if (on_numbers) on_numbers(p, own, among);
            auto masked = client.mask(own, among, inputs[static_cast<std::size_t>(p)]);
            seen_masked[p] = masked.values;
            coordinator->take_masked(p, std::move(masked));
        });
        const bool everybody = coordinator->survivors().dropped.empty();
        each(Lost::before_signature, [&](Party p, auto& client) {
            if (!coordinator->survivors().alive.contains(p)) return;
            Survivors survivors = coordinator->survivors();
            if (on_survivors) on_survivors(p, survivors);
            if (everybody && survivors.dropped.empty()) return;
            coordinator->take_endorsement(p, client.endorse(survivors));
        });
        each(Lost::before_unmasking, [&](Party p, auto& client) {
            if (!coordinator->survivors().alive.contains(p)) return;
            Endorsements endorsements = coordinator->endorsements();
            if (on_endorsements) on_endorsements(p, endorsements);
            auto unmasking = client.unmask(endorsements);
            if (on_unmasking) on_unmasking(p, unmasking);
            seen_unmasking[p] = unmasking;
            coordinator->take_unmasking(p, std::move(unmasking));
        });
        return coordinator->sum();
    }
    Vector run() {
        agree();
        return add(keys.first, coordinator->sharers());
    }

    std::vector<Identity> identities;
    KeyTerms keys;
    SumTerms terms;
    std::optional<KeyTerms> told;  ///< other terms that the clients are told
    SumDemands demands;
    std::vector<Lost> lost;
    std::vector<Vector> inputs;
    std::optional<SecureSumCoordinator> coordinator;
    std::vector<SecureSumClient> clients;
    std::optional<Advertisement> replayed;
    std::function<void(Roster&)> on_roster;
    std::function<void(Party, SealedShares&)> on_shares;
    std::function<void(Party, SumTerms&, std::set<Party>&)> on_numbers;
    std::function<void(Party, Survivors&)> on_survivors;
    std::function<void(Party, Endorsements&)> on_endorsements;
    std::function<void(Party, Unmasking&)> on_unmasking;
    Roster seen_roster;
    std::map<Party, Vector> seen_masked;
    std::map<Party, Unmasking> seen_unmasking;
};

std::string refusal_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::string refusal(Cohort& cohort) {
    return refusal_of([&] { cohort.run(); });
}

double chi_square(const Vector& values, int bits) {
    const auto bytes = Ring(bits).pack(values);
    std::vector<double> counts(256, 0);
    for (const auto byte : bytes) ++counts[byte];
    const double expected = static_cast<double>(bytes.size()) / 256;
    double chi2 = 0;
    for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
    return chi2;
}

TEST(SecureSum, IsTheSum) {
    for (const Ring& ring :
         {Ring(17), Ring(32), Ring(54), Ring(64), Ring::modulo(2500), Ring::modulo(1'000'000'000'039)}) {
        Cohort cohort(5, 3, 33, ring);
        EXPECT_EQ(cohort.run(), cohort.expected({0, 1, 2, 3, 4})) << ring.modulus();
    }
    Cohort smallest(3, 2, 1);
    EXPECT_EQ(smallest.run(), smallest.expected({0, 1, 2}));
}

TEST(SecureSum, SurvivesTheLossOfAsManyAsItPromisesAtEveryStep) {
    for (const Lost step : {Lost::before_keys, Lost::before_shares, Lost::before_numbers, Lost::before_signature,
                            Lost::before_unmasking}) {
        for (int many = 1; many <= 3; ++many) {
            Cohort cohort(7, 4);
            for (int k = 0; k < many; ++k) cohort.lost[static_cast<std::size_t>(2 * k)] = step;
            EXPECT_EQ(cohort.run(), cohort.expected(cohort.numbers_from())) << static_cast<int>(step) << " " << many;
        }
        Cohort cohort(7, 4);
        for (int k = 0; k < 4; ++k) cohort.lost[static_cast<std::size_t>(k)] = step;
        EXPECT_NE(refusal(cohort).find("secure sum: 3 "), std::string::npos) << static_cast<int>(step);
        // Where nobody is lost before, nobody is asked to sign; three shares of a threshold of four say nothing.
        EXPECT_TRUE(cohort.seen_unmasking.empty() || step >= Lost::before_signature);
    }
}

TEST(SecureSum, LossesAtDifferentStepsTogether) {
    Cohort cohort(9, 5);
    cohort.lost[1] = Lost::before_shares;
    cohort.lost[4] = Lost::before_numbers;
    cohort.lost[5] = Lost::before_unmasking;
    cohort.lost[8] = Lost::before_signature;
    EXPECT_EQ(cohort.run(), cohort.expected({0, 2, 3, 5, 6, 7, 8}));
}

/// What the coordinator holds of a client: its masked numbers, and t shares of its own seed, which undo that mask. What
/// remains is masked by every pair that the coordinator does not collude with.
TEST(SecureSum, TheTranscriptDoesNotTellInputsApart) {
    constexpr std::size_t length = 40'000;
    const auto transcript = [&](std::uint64_t moved) {
        auto cohort = std::make_unique<Cohort>(5, 3, length, Ring(64));
        for (std::size_t i = 0; i < length; ++i) {
            cohort->inputs[0][i] = moved;
            cohort->inputs[1][i] = 1000 - moved;
            for (int k = 2; k < 5; ++k) cohort->inputs[static_cast<std::size_t>(k)][i] = 5;
        }
        EXPECT_EQ(cohort->run(), Vector(length, 1015));
        return cohort;
    };
    for (const std::uint64_t moved : {0, 999}) {
        const auto cohort = transcript(moved);
        std::map<int, Key> shares;
        for (const auto& [party, reveal] : cohort->seen_unmasking) shares[party] = reveal.alive.at(0);
        const Secret seed = join_secret(shares);
        Vector rest = cohort->seen_masked[0];
        const Key session = session_of(session_of(cohort->keys), cohort->terms, cohort->coordinator->members());
        add_mask(rest, own_stream(seed, session), Ring(64), Sign::minus);
        EXPECT_LT(chi_square(rest, 64), 255 + 6 * 22.6);
        EXPECT_NE(rest, Vector(length, moved));
        // Nobody reveals a share of the masking key of somebody who is alive.
        for (const auto& [party, reveal] : cohort->seen_unmasking) EXPECT_TRUE(reveal.dropped.empty());
        for (const auto& [party, masked] : cohort->seen_masked) EXPECT_LT(chi_square(masked, 64), 255 + 6 * 22.6);
    }
}

TEST(SecureSum, KeysOfOneSumAreNoGoodForAnother) {
    Cohort first(3, 2);
    first.run();
    Cohort second(3, 2);
    second.identities = std::move(first.identities);
    second.replayed = first.seen_roster.at(0);
    EXPECT_NE(refusal(second).find("keys with a wrong signature"), std::string::npos);
}

// A coordinator that lies: the clients notice.

TEST(HostileCoordinator, ListsAClientAsAliveAndLost) {
    Cohort cohort(5, 3);
    cohort.on_survivors = [](Party, Survivors& survivors) { survivors.dropped.insert(2); };
    EXPECT_NE(refusal(cohort).find("client 3 as both alive and lost"), std::string::npos);
    EXPECT_TRUE(cohort.seen_unmasking.empty());
}

TEST(HostileCoordinator, TellsDifferentSurvivorsToDifferentClients) {
    Cohort cohort(6, 4);
    // Client 1 is alive to some and lost to others: together they would reveal both of its shares.
    cohort.on_survivors = [](Party to, Survivors& survivors) {
        if (to < 3) return;
        survivors.alive.erase(0);
        survivors.dropped.insert(0);
    };
    EXPECT_NE(refusal(cohort).find("a wrong signature under the survivors"), std::string::npos);
    EXPECT_TRUE(cohort.seen_unmasking.empty());
    // The coordinator's own check is its business; a hostile one has none. The clients' is in unmask().
    for (const Lost step : {Lost::never, Lost::before_numbers}) {
        Cohort bold(6, 4);
        bold.lost[5] = step;
        bold.on_endorsements = [](Party, Endorsements& endorsements) { endorsements.begin()->second.back() ^= 1; };
        EXPECT_NE(refusal(bold).find(step == Lost::never ? "under another sum" : "under other survivors"),
                  std::string::npos);
        EXPECT_TRUE(bold.seen_unmasking.empty());
    }
}

TEST(HostileCoordinator, CountsTooFewSignatures) {
    const auto two = [](Party, Endorsements& endorsements) {
        while (endorsements.size() > 2) endorsements.erase(endorsements.begin());
    };
    Cohort whole(5, 3);
    whole.on_endorsements = two;
    EXPECT_NE(refusal(whole).find("2 signatures under the survivors; expected at least 5"), std::string::npos);
    Cohort one_lost(5, 3);
    one_lost.lost[4] = Lost::before_numbers;
    one_lost.on_endorsements = two;
    EXPECT_NE(refusal(one_lost).find("2 signatures under the survivors; expected at least 3"), std::string::npos);
}

/// Whatever one client alone is told of a sum, the others' unmasking notices that it has signed something else.
TEST(HostileCoordinator, AsksOneClientForAnotherSum) {
    const auto lies = std::vector<std::function<void(SumTerms&, std::set<Party>&)>>{
        [](SumTerms& sum, std::set<Party>&) { sum.told[3] ^= 1; },
        [](SumTerms& sum, std::set<Party>&) { sum.stretches[0].step *= 2; },
        [](SumTerms&, std::set<Party>& members) { members.erase(4); }};
    for (const auto& lie : lies) {
        Cohort cohort(5, 3);
        cohort.on_numbers = [&](Party to, SumTerms& sum, std::set<Party>& members) {
            if (to == 1) lie(sum, members);
        };
        EXPECT_NE(refusal(cohort).find("client 2: numbers with a wrong signature"), std::string::npos);
        // A coordinator that passes the signature on: everybody else refuses.
        Cohort bold(5, 3);
        bold.agree();
        const std::set<Party> all = bold.coordinator->sharers();
        Endorsements signatures;
        bold.each(Lost::never, [&](Party p, SecureSumClient& client) {
            SumTerms sum = bold.terms;
            std::set<Party> members = all;
            if (p == 1) lie(sum, members);
            signatures[p] = client.mask(sum, members, bold.inputs[static_cast<std::size_t>(p)]).signature;
        });
        for (const std::size_t p : {0, 2, 3}) {
            try {
                bold.clients[p].unmask(signatures);
                FAIL() << p;
            } catch (const InputError& error) {
                EXPECT_NE(std::string(error.what()).find("a signature of client 2 under another sum"),
                          std::string::npos);
            }
        }
    }
}

TEST(HostileCoordinator, ReplaysAnOldJob) {
    Cohort cohort(4, 3);
    KeyTerms old = cohort.keys;
    old.job[0] ^= 1;
    cohort.told = old;
    EXPECT_NE(refusal(cohort).find("keys with a wrong signature"), std::string::npos);
}

TEST(HostileCoordinator, SwapsKeys) {
    Cohort cohort(4, 3);
    cohort.on_roster = [](Roster& roster) { roster.at(1).masking.front() = public_key(Secret::random()); };
    EXPECT_NE(refusal(cohort).find("keys of client 2 with a wrong signature"), std::string::npos);
    Cohort own(4, 3);
    own.on_roster = [](Roster& roster) { std::swap(roster.at(0), roster.at(1)); };
    EXPECT_NE(refusal(own).find("a roster without this client's keys"), std::string::npos);
}

TEST(HostileCoordinator, InventsClients) {
    Cohort cohort(4, 3);
    cohort.on_roster = [](Roster& roster) { roster[9] = roster.at(1); };
    EXPECT_NE(refusal(cohort).find("keys of client 10 with a wrong signature"), std::string::npos);
}

TEST(HostileCoordinator, ShrinksTheCohort) {
    Cohort cohort(5, 3, 40, Ring(54), {.min_cohort = 5});
    cohort.on_roster = [](Roster& roster) { roster.erase(4); };
    EXPECT_NE(refusal(cohort).find("a roster of 4 clients; expected at least 5"), std::string::npos);
    Cohort later(5, 3, 40, Ring(54), {.min_cohort = 5});
    later.on_shares = [](Party, SealedShares& shares) { shares.erase(shares.begin()); };
    EXPECT_NE(refusal(later).find("shares of 3 others; expected at least 4"), std::string::npos);
    Cohort last(5, 3, 40, Ring(54), {.min_cohort = 5});
    last.lost[2] = Lost::before_numbers;
    EXPECT_NE(refusal(last).find("4 survivors; expected at least 5"), std::string::npos);
    EXPECT_TRUE(last.seen_unmasking.empty());
}

TEST(HostileCoordinator, LowersTheThreshold) {
    Cohort cohort(6, 3);
    EXPECT_NE(refusal(cohort).find("a threshold of 3 of 6; expected at least 4"), std::string::npos);
    Cohort colluding(6, 4, 40, Ring(54), {.colluders = 2});
    EXPECT_NE(refusal(colluding).find("a threshold of 4 of 6; expected at least 5"), std::string::npos);
}

TEST(HostileCoordinator, ForgesShares) {
    Cohort cohort(4, 3);
    cohort.on_shares = [](Party, SealedShares& shares) { shares.begin()->second[5] ^= 1; };
    EXPECT_NE(refusal(cohort).find("with a broken seal"), std::string::npos);
    Cohort swapped(4, 3);
    swapped.on_shares = [](Party to, SealedShares& shares) {
        if (to == 3) std::swap(shares.at(0), shares.at(1));
    };
    EXPECT_NE(refusal(swapped).find("with a broken seal"), std::string::npos);
}

TEST(HostileCoordinator, CallsAnAnsweringClientLost) {
    Cohort cohort(5, 3);
    cohort.on_survivors = [](Party to, Survivors& survivors) {
        survivors.alive.erase(to);
        survivors.dropped.insert(to);
    };
    EXPECT_NE(refusal(cohort).find("this client as lost"), std::string::npos);
}

TEST(HostileCoordinator, AsksTwice) {
    Cohort cohort(3, 2);
    const Identity& identity = cohort.identities[0];
    SecureSumClient client(
        0, cohort.keys, {}, [&](Bytes text) { return identity.sign(text); }, cohort.verifier());
    client.advertise();
    EXPECT_THROW(client.advertise(), InputError);
    EXPECT_THROW(client.seal({}), InputError);
    EXPECT_THROW(client.advertise(), InputError) << "nothing more is answered";
}

TEST(ManySums, FollowFromTheSameKeys) {
    Cohort cohort(5, 3, 30, Ring::modulo(3001), {}, 4);
    cohort.agree();
    std::vector<Vector> masked;
    for (const std::int64_t sum : {0, 1, 3}) {
        EXPECT_EQ(cohort.add(sum, cohort.coordinator->sharers()), cohort.expected({0, 1, 2, 3, 4})) << sum;
        masked.push_back(cohort.seen_masked.at(0));
    }
    EXPECT_NE(masked[0], masked[1]);
    EXPECT_NE(masked[1], masked[2]);
}

TEST(ManySums, MayLoseAClientAtEach) {
    Cohort cohort(7, 4, 30, Ring(40), {}, 3);
    cohort.agree();
    cohort.lost[6] = Lost::before_numbers;
    EXPECT_EQ(cohort.add(0, cohort.coordinator->sharers()), cohort.expected({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(cohort.add(1, cohort.coordinator->survivors().alive), cohort.expected({0, 1, 2, 3, 4, 5}));
    cohort.lost[2] = Lost::before_unmasking;
    cohort.lost[0] = Lost::before_numbers;
    EXPECT_EQ(cohort.add(2, cohort.coordinator->survivors().alive), cohort.expected({1, 2, 3, 4, 5}));
}

TEST(ManySums, AreEachMaskedOnce) {
    Cohort cohort(4, 3, 10, Ring(40), {}, 2);
    cohort.agree();
    const std::set<Party> all = cohort.coordinator->sharers();
    cohort.add(1, all);
    EXPECT_NE(refusal_of([&] { cohort.clients[0].mask(cohort.terms, all, cohort.inputs[0]); }).find("once more"),
              std::string::npos);
    EXPECT_THROW(cohort.clients[0].mask(cohort.terms, all, cohort.inputs[0]), InputError);
    SumTerms earlier = cohort.terms;
    earlier.sum = 0;
    EXPECT_NE(refusal_of([&] { cohort.clients[1].mask(earlier, all, cohort.inputs[1]); }).find("once more"),
              std::string::npos);
    SumTerms later = cohort.terms;
    later.sum = 2;
    EXPECT_NE(refusal_of([&] { cohort.clients[2].mask(later, all, cohort.inputs[2]); }).find("keys of sum 3"),
              std::string::npos);
    EXPECT_THROW(cohort.coordinator->begin_sum(later, all), RunError);
}

/// A share that is revealed for one sum says nothing of the next: what everybody shows for sum 0 undoes no mask of
/// sum 1.
TEST(ManySums, SharesOfOneOpenNoOther) {
    Cohort cohort(4, 3, 20'000, Ring(64), {}, 2);
    cohort.agree();
    cohort.add(0, cohort.coordinator->sharers());
    std::map<int, Key> shares;
    for (const auto& [party, reveal] : cohort.seen_unmasking) shares[party] = reveal.alive.at(0);
    const Secret seed = join_secret(shares);
    EXPECT_EQ(commitment(seed), cohort.seen_roster.at(0).seeds.at(0));
    EXPECT_NE(commitment(seed), cohort.seen_roster.at(0).seeds.at(1));
    EXPECT_NE(cohort.seen_roster.at(0).masking.at(0), cohort.seen_roster.at(0).masking.at(1));
    cohort.inputs[0].assign(20'000, 7);
    cohort.add(1, cohort.coordinator->sharers());
    Vector rest = cohort.seen_masked.at(0);
    add_mask(rest, own_stream(seed, session_of(session_of(cohort.keys), cohort.terms, {0, 1, 2, 3})), Ring(64),
             Sign::minus);
    EXPECT_LT(chi_square(rest, 64), 255 + 6 * 22.6);
}

TEST(ManySums, HaveStretchesInRingsOfTheirOwn) {
    Cohort cohort(3, 2, 12, Ring(7));
    cohort.terms.stretches = {{5, Ring(7), 1}, {4, Ring::modulo(1000), 0.25}, {3, Ring(60), 2}};
    for (Vector& x : cohort.inputs) {
        for (std::size_t i = 5; i < 9; ++i) x[i] = Ring::modulo(1000).reduced(x[i] * 77);
        for (std::size_t i = 9; i < 12; ++i) x[i] = Ring(60).reduced(x[i] * 0x123456789abcULL);
    }
    EXPECT_EQ(cohort.run(), cohort.expected({0, 1, 2}));
    EXPECT_EQ(cohort.terms.length(), 12);
}

TEST(Session, BindsEveryTerm) {
    KeyTerms terms;
    terms.threshold = 3;
    const Key session = session_of(terms);
    for (const auto& change : std::vector<std::function<void(KeyTerms&)>>{
             [](KeyTerms& t) { t.job[31] = 1; }, [](KeyTerms& t) { t.first = 1; }, [](KeyTerms& t) { t.sums = 2; },
             [](KeyTerms& t) { t.threshold = 2; }, [](KeyTerms& t) { t.told[31] = 1; }}) {
        KeyTerms other = terms;
        change(other);
        EXPECT_NE(session_of(other), session);
    }
    const SumTerms sum{.sum = 1, .stretches = {{10, Ring(64), 1}}, .told = {}};
    const std::set<Party> members{0, 1, 2};
    const Key of_sum = session_of(session, sum, members);
    EXPECT_NE(session_of(session, sum, {0, 1, 3}), of_sum);
    EXPECT_NE(session_of(Key{1}, sum, members), of_sum);
    for (const auto& change : std::vector<std::function<void(SumTerms&)>>{
             [](SumTerms& t) { t.sum = 2; }, [](SumTerms& t) { t.stretches[0].numbers = 11; },
             [](SumTerms& t) { t.stretches[0].ring = Ring::modulo(9); }, [](SumTerms& t) { t.stretches[0].step = 2; },
             [](SumTerms& t) {
                 t.stretches.push_back({0, Ring(64), 1});
             },
             [](SumTerms& t) { t.told[31] = 1; }}) {
        SumTerms other = sum;
        change(other);
        EXPECT_NE(session_of(session, other, members), of_sum);
    }
}

}  // namespace
}  // namespace couplet
