#include "couplet/privacy/secure_sum.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/privacy/shamir.hpp"

namespace couplet {
namespace {

using Vector = std::vector<std::uint64_t>;

/// Steps at which a client can be lost: it does not answer that one, nor any later.
enum class Lost { never, before_keys, before_shares, before_numbers, before_signature, before_unmasking };

/// n clients and a coordinator; `tamper` may change what the coordinator tells.
struct Cohort {
    explicit Cohort(int n, int threshold, std::size_t length = 40, int bits = 54, SumDemands wanted = {})
        : identities(static_cast<std::size_t>(n)), demands(wanted), lost(static_cast<std::size_t>(n), Lost::never) {
        terms.job = Secret::random().bytes();
        terms.length = static_cast<std::int64_t>(length);
        terms.bits = bits;
        terms.step = 0.5;
        terms.threshold = threshold;
        Random random(static_cast<std::uint64_t>(n));
        for (int k = 0; k < n; ++k) {
            Vector x(length);
            for (auto& value : x) value = random.next() & Ring(bits).mask();
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
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] = (sum[i] + inputs[static_cast<std::size_t>(party)][i]) & Ring(terms.bits).mask();
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

    Vector run() {
        SecureSumCoordinator coordinator(terms, verifier());
        std::vector<SecureSumClient> clients;
        const auto n = static_cast<Party>(identities.size());
        for (Party p = 0; p < n; ++p) {
            const Identity& identity = identities[static_cast<std::size_t>(p)];
            clients.emplace_back(
                p, told ? *told : terms, demands, [&identity](Bytes text) { return identity.sign(text); }, verifier());
        }
        const auto each = [&](Lost step, const std::function<void(Party, SecureSumClient&)>& body) {
            for (Party p = 0; p < n; ++p) {
                if (there(p, step)) body(p, clients[static_cast<std::size_t>(p)]);
            }
        };
        each(Lost::before_keys, [&](Party p, auto& client) {
            auto keys = client.advertise();
            if (replayed) keys = *replayed;
            coordinator.take_advertisement(p, std::move(keys));
        });
        Roster roster = coordinator.roster();
        if (on_roster) on_roster(roster);
        seen_roster = roster;
        each(Lost::before_shares, [&](Party p, auto& client) { coordinator.take_shares(p, client.seal(roster)); });
        each(Lost::before_numbers, [&](Party p, auto& client) {
            auto shares = coordinator.shares_for(p);
            if (on_shares) on_shares(p, shares);
            auto masked = client.mask(shares, inputs[static_cast<std::size_t>(p)]);
            seen_masked[p] = masked;
            coordinator.take_masked(p, std::move(masked));
        });
        each(Lost::before_signature, [&](Party p, auto& client) {
            Survivors survivors = coordinator.survivors();
            if (on_survivors) on_survivors(p, survivors);
            coordinator.take_endorsement(p, client.endorse(survivors));
        });
        each(Lost::before_unmasking, [&](Party p, auto& client) {
            Endorsements endorsements = coordinator.endorsements();
            if (on_endorsements) on_endorsements(p, endorsements);
            auto unmasking = client.unmask(endorsements);
            seen_unmasking[p] = unmasking;
            coordinator.take_unmasking(p, std::move(unmasking));
        });
        return coordinator.sum();
    }

    std::vector<Identity> identities;
    SumTerms terms;
    std::optional<SumTerms> told;  ///< other terms that the clients are told
    SumDemands demands;
    std::vector<Lost> lost;
    std::vector<Vector> inputs;
    std::optional<Advertisement> replayed;
    std::function<void(Roster&)> on_roster;
    std::function<void(Party, SealedShares&)> on_shares;
    std::function<void(Party, Survivors&)> on_survivors;
    std::function<void(Party, Endorsements&)> on_endorsements;
    Roster seen_roster;
    std::map<Party, Vector> seen_masked;
    std::map<Party, Unmasking> seen_unmasking;
};

std::string refusal(Cohort& cohort) {
    try {
        cohort.run();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
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
    for (const int bits : {17, 32, 54, 64}) {
        Cohort cohort(5, 3, 33, bits);
        EXPECT_EQ(cohort.run(), cohort.expected({0, 1, 2, 3, 4})) << bits;
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
        EXPECT_TRUE(cohort.seen_unmasking.empty() || step == Lost::before_unmasking);
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
        auto cohort = std::make_unique<Cohort>(5, 3, length, 64);
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
        add_mask(rest, seed, Ring(64), Sign::minus);
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
    // The coordinator's own check is its business; a hostile one has none. The clients' is in unmask().
    Cohort bold(6, 4);
    bold.on_endorsements = [](Party, Endorsements& endorsements) { endorsements.begin()->second.back() ^= 1; };
    EXPECT_NE(refusal(bold).find("under other survivors"), std::string::npos);
    EXPECT_TRUE(bold.seen_unmasking.empty());
}

TEST(HostileCoordinator, CountsTooFewSignatures) {
    Cohort cohort(5, 3);
    cohort.on_endorsements = [](Party, Endorsements& endorsements) {
        while (endorsements.size() > 2) endorsements.erase(endorsements.begin());
    };
    EXPECT_NE(refusal(cohort).find("2 signatures under the survivors"), std::string::npos);
}

TEST(HostileCoordinator, ReplaysAnOldJob) {
    Cohort cohort(4, 3);
    SumTerms old = cohort.terms;
    old.job[0] ^= 1;
    cohort.told = old;
    EXPECT_NE(refusal(cohort).find("keys with a wrong signature"), std::string::npos);
}

TEST(HostileCoordinator, SwapsKeys) {
    Cohort cohort(4, 3);
    cohort.on_roster = [](Roster& roster) { roster.at(1).masking = public_key(Secret::random()); };
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
    Cohort cohort(5, 3, 40, 54, {.min_cohort = 5});
    cohort.on_roster = [](Roster& roster) { roster.erase(4); };
    EXPECT_NE(refusal(cohort).find("a roster of 4 clients; expected at least 5"), std::string::npos);
    Cohort later(5, 3, 40, 54, {.min_cohort = 5});
    later.on_shares = [](Party, SealedShares& shares) { shares.erase(shares.begin()); };
    EXPECT_NE(refusal(later).find("shares of 3 others; expected at least 4"), std::string::npos);
    Cohort last(5, 3, 40, 54, {.min_cohort = 5});
    last.lost[2] = Lost::before_numbers;
    EXPECT_NE(refusal(last).find("4 survivors; expected at least 5"), std::string::npos);
    EXPECT_TRUE(last.seen_unmasking.empty());
}

TEST(HostileCoordinator, LowersTheThreshold) {
    Cohort cohort(6, 3);
    EXPECT_NE(refusal(cohort).find("a threshold of 3 of 6; expected at least 4"), std::string::npos);
    Cohort colluding(6, 4, 40, 54, {.colluders = 2});
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
        0, cohort.terms, {}, [&](Bytes text) { return identity.sign(text); }, cohort.verifier());
    client.advertise();
    EXPECT_THROW(client.advertise(), InputError);
    EXPECT_THROW(client.seal({}), InputError);
}

TEST(HostileClient, IsNamed) {
    Cohort cohort(4, 3);
    SecureSumCoordinator coordinator(cohort.terms, cohort.verifier());
    EXPECT_THROW(coordinator.take_advertisement(0, {}), InputError);
    EXPECT_THROW(coordinator.take_shares(0, {}), InputError);
    EXPECT_THROW(coordinator.take_masked(0, {}), InputError);
    EXPECT_THROW(coordinator.take_endorsement(0, {}), InputError);
    EXPECT_THROW(coordinator.take_unmasking(0, {}), InputError);
    EXPECT_THROW(coordinator.roster(), RunError);
    EXPECT_THROW(coordinator.sum(), RunError);
}

TEST(PairwiseMasks, CancelOverAllMembersAndNoFewer) {
    constexpr int n = 6;
    std::vector<Secret> keys;
    std::map<Party, Key> members;
    for (int k = 0; k < n; ++k) {
        keys.push_back(Secret::random());
        members[k] = public_key(keys.back());
    }
    const Ring ring(40);
    const Key session = Secret::random().bytes();
    Vector sum(500, 0);
    Vector all_but_one(500, 0);
    for (int k = 0; k < n; ++k) {
        Vector x(500, static_cast<std::uint64_t>(k));
        add_pairwise_masks(x, k, keys[static_cast<std::size_t>(k)], members, session, ring);
        EXPECT_NE(x, Vector(500, static_cast<std::uint64_t>(k)));
        for (std::size_t i = 0; i < 500; ++i) {
            sum[i] = (sum[i] + x[i]) & ring.mask();
            if (k > 0) all_but_one[i] = (all_but_one[i] + x[i]) & ring.mask();
        }
    }
    EXPECT_EQ(sum, Vector(500, 15));
    EXPECT_NE(all_but_one, Vector(500, 15));
}

TEST(Session, BindsEveryTerm) {
    SumTerms terms;
    terms.length = 10;
    terms.threshold = 3;
    const Key session = session_of(terms);
    for (const auto& change : std::vector<std::function<void(SumTerms&)>>{
             [](SumTerms& t) { t.job[31] = 1; }, [](SumTerms& t) { t.pass = 1; }, [](SumTerms& t) { t.length = 11; },
             [](SumTerms& t) { t.bits = 63; }, [](SumTerms& t) { t.step = 2; }, [](SumTerms& t) { t.threshold = 2; },
             [](SumTerms& t) { t.told[31] = 1; }}) {
        SumTerms other = terms;
        change(other);
        EXPECT_NE(session_of(other), session);
    }
}

}  // namespace
}  // namespace couplet
