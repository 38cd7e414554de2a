#include "couplet/secure/secure_coordinator.hpp"

#include "secure_test_support.hpp"

namespace couplet {
namespace {

support::Clients people(Index clients) { return support::population(clients, {30, 8, 9}, 6, 0.7, 0.05); }

enum Stage : std::size_t { keys, shares, numbers, endorsement, unmasking };

TEST(SecureCoordinator, GivesTheFeaturesOfThePlainJob) {
    for (const Sketch sketch : {Sketch::random, Sketch::gram}) {
        SecureJob secure(people(4), subspace_job(5, sketch));
        const auto exact = plain(secure.clients, {0, 1, 2, 3}, secure.job);
        EXPECT_LT(projector_distance(*exact.features, secure.run()), 1e-9);
        EXPECT_EQ(secure.coordinator->cohort(), (std::set<Party>{0, 1, 2, 3}));
        EXPECT_EQ(secure.coordinator->plan()->patients, 120);
        EXPECT_EQ(secure.coordinator->shortened(), "");
    }
}

TEST(SecureCoordinator, LossesInTheFirstSumsLeaveTheExactSumOfTheSurvivors) {
    // Seven clients, five must stay: two may go at every step of the counting and of the first sum over the data.
    for (const Index sum : {0, 1}) {
        for (const std::size_t stage : {keys, shares, numbers, endorsement, unmasking}) {
            SecureJob secure(people(7), subspace_job(5, Sketch::gram));
            secure.lost = [&](Party party, Index now, Index, std::size_t at) {
                return (party == 2 || party == 5) && (now > sum || (now == sum && at >= stage));
            };
            const bool in_it = sum == 1 && stage > numbers;
            const auto exact = in_it ? plain(secure.clients, {0, 1, 2, 3, 4, 5, 6}, secure.job)
                                     : plain(secure.clients, {0, 1, 3, 4, 6}, secure.job);
            EXPECT_LT(projector_distance(*exact.features, secure.run()), 1e-9) << sum << " " << stage;
        }
    }
}

TEST(SecureCoordinator, OneLossMoreFailsAndNothingIsRevealed) {
    for (const Index sum : {0, 1}) {
        for (const std::size_t stage : {keys, shares, numbers, endorsement, unmasking}) {
            SecureJob secure(people(7), subspace_job(5, Sketch::gram));
            secure.lost = [&](Party party, Index now, Index, std::size_t at) {
                return party < 3 && (now > sum || (now == sum && at >= stage));
            };
            EXPECT_NE(secure.refusal().find("secure sum: 4 "), std::string::npos) << sum << " " << stage;
            // Four shares of a threshold of five say nothing. Nobody signs who survived where nobody was lost before.
            EXPECT_EQ(secure.revealed, (sum == 1 ? 7 : 0) + (stage >= endorsement ? 4 : 0));
            EXPECT_FALSE(secure.coordinator->finished());
        }
    }
}

/// A threshold says whose sum is safe; who runs the job may want more clients in its result than that.
TEST(SecureCoordinator, AResultOfFewerClientsThanWantedIsNone) {
    for (const Party lost : {1, 2}) {
        SecureJob secure(people(7), subspace_job(5, Sketch::gram));
        secure.coordinator =
            std::make_unique<SecureCoordinator>(secure.job, Shape{8, 9},
                                                SecureCoordinator::Options{.job = secure.id,
                                                                           .told = secure.told,
                                                                           .terms = secure.terms,
                                                                           .notary = secure.authority.notary(0),
                                                                           .names = secure.names,
                                                                           .least = 6});
        secure.lost = [&](Party party, Index now, Index, std::size_t at) {
            return party < lost && now == 1 && at >= numbers;
        };
        const std::string said = secure.refusal();
        if (lost == 1) {
            EXPECT_EQ(said, "");
            EXPECT_TRUE(secure.coordinator->finished());
            continue;
        }
        EXPECT_EQ(said.rfind("secure sum: 5 clients with numbers; expected at least 6.", 0), 0U) << said;
        EXPECT_EQ(secure.revealed, 7) << "of the counts; nothing of the data";
        EXPECT_FALSE(secure.coordinator->finished());
    }
}

TEST(SecureCoordinator, ALostClientThatComesBackIsInTheSumThatIsTriedAgain) {
    SecureJob secure(people(4), subspace_job(5));
    // Killed in the middle of a later sum and started again: its keys are gone, what it wrote is not.
    secure.lost = [&](Party party, Index sum, Index again, std::size_t stage) {
        if (party != 1 || sum != 3 || again != 0 || stage != numbers) return false;
        secure.restart(1);
        return true;
    };
    const auto exact = plain(secure.clients, {0, 1, 2, 3}, secure.job);
    EXPECT_LT(projector_distance(*exact.features, secure.run()), 1e-9);
    EXPECT_EQ(secure.coordinator->shortened(), "");
}

TEST(SecureCoordinator, AClientWithoutKeysDeclinesAndIsLostToThatSumAlone) {
    SecureJob secure(people(4), subspace_job(5));
    int declined = 0;
    secure.heard = [&](Party, const SecureReply& reply) {
        declined += std::holds_alternative<Declined>(reply.answer) ? 1 : 0;
    };
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party == 2 && request.sum == 2 && request.again == 0 && request.ask.index() == numbers) secure.restart(2);
    };
    const auto exact = plain(secure.clients, {0, 1, 2, 3}, secure.job);
    EXPECT_LT(projector_distance(*exact.features, secure.run()), 1e-9);
    EXPECT_EQ(declined, 1);
}

TEST(SecureCoordinator, MakesKeysOnceAndAsksTwiceASum) {
    SecureJob secure(people(4), subspace_job(5));
    std::map<std::size_t, int> asked;
    std::size_t counts = 0;
    Index columns = 0;
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party != 0) return;
        ++asked[request.ask.index()];
        const auto* ask = std::get_if<AskNumbers>(&request.ask);
        if (ask == nullptr) return;
        EXPECT_EQ(ask->shares.empty(), request.sum > 0) << "sealed shares are told once";
        counts += ask->counts.size();
        columns += ask->basis.cols();
    };
    secure.run();
    EXPECT_EQ(asked, (std::map<std::size_t, int>{{keys, 1}, {shares, 1}, {numbers, 5}, {unmasking, 5}}));
    EXPECT_EQ(counts, census_length) << "the counts are told once";
    EXPECT_EQ(columns, 3 * 15) << "of the last basis, what is in none before it";
    EXPECT_EQ(secure.coordinator->rounds(), 2 + 2 * 5 + 1);
}

TEST(SecureCoordinator, WithoutALaterSumTheFeaturesAreThoseOfTheSumsSoFar) {
    SecureJob secure(people(4), subspace_job(5));
    secure.lost = [](Party party, Index sum, Index, std::size_t) { return party == 3 && sum >= 3; };
    const auto exact = plain(secure.clients, {0, 1, 2, 3}, secure.job);
    const double distance = projector_distance(*exact.features, secure.run());
    EXPECT_GT(distance, 1e-9);
    EXPECT_LT(distance, 0.05);
    EXPECT_NE(secure.coordinator->shortened().find("hospital-4 was lost after 3 of 5 sums"), std::string::npos);
    for (const SumRecord& record : secure.records) EXPECT_LE(record.sums, 3);
}

TEST(SecureCoordinator, IsPutBackWhereItWasByTheSameAnswers) {
    SecureJob secure(people(4), subspace_job(5));
    secure.lost = [](Party party, Index sum, Index, std::size_t stage) { return party == 0 && sum == 1 && stage > 1; };
    // Keys, shares, the counts, the first sum over the data without client 1, and half of the second.
    std::vector<std::map<Party, SecureReply>> spool;
    for (int steps = 0; steps < 8; ++steps) {
        spool.emplace_back();
        secure.heard = [&](Party party, const SecureReply& reply) { spool.back().emplace(party, reply); };
        secure.step();
    }
    secure.restart_coordinator();
    for (auto& answers : spool) {
        for (auto& [party, reply] : answers) secure.coordinator->take(party, std::move(reply));
        secure.coordinator->close();
    }
    secure.heard = {};
    const auto exact = plain(secure.clients, {1, 2, 3}, secure.job);
    EXPECT_LT(projector_distance(*exact.features, secure.run()), 1e-9);
}

TEST(SecureCoordinator, RefusesAnswersThatNoHonestClientGives) {
    SecureJob secure(people(3), subspace_job(5));
    SecureCoordinator& coordinator = *secure.coordinator;
    const auto complaint = [&](Party from, SecureReply reply) {
        try {
            coordinator.take(from, std::move(reply));
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    auto own = secure.machines[0]->answer(coordinator.request(0));
    EXPECT_NE(complaint(1, own).find("keys signed by hospital-1"), std::string::npos);
    EXPECT_NE(complaint(1, {0, 0, MaskedNumbers{}}).find("another answer"), std::string::npos);
    EXPECT_NE(complaint(1, {2, 0, MaskedNumbers{}}).find("another sum"), std::string::npos);
    auto forged = secure.machines[1]->answer(coordinator.request(1));
    std::get<Announced>(forged.answer).keys.masking[0][3] ^= 1;
    EXPECT_NE(complaint(1, forged).find("wrong signature"), std::string::npos);
    EXPECT_THROW(SecureCoordinator(
                     secure.job, {8, 9},
                     {.job = {}, .terms = {}, .notary = secure.authority.notary(0), .names = {{0, "a"}, {1, "b"}}}),
                 InputError);
}

TEST(SecureCoordinator, ThePolicyAndAGuaranteeChangeTheJob) {
    SecureJob careful(people(5), subspace_job(5), {.policy = true});
    careful.run();
    EXPECT_EQ(careful.coordinator->plan()->changes.front(), "passes 3 -> 1");
    EXPECT_TRUE(careful.coordinator->plan()->clip);

    SecureJob noised(people(5), subspace_job(5, Sketch::gram),
                     {.guarantee = PrivacyGuarantee{1e9, 1e-5}, .clip = 100.0});
    const auto exact = plain(noised.clients, {0, 1, 2, 3, 4}, noised.job);
    EXPECT_LT(projector_distance(*exact.features, noised.run()), 0.2);
    EXPECT_EQ(noised.records[0].sums, 2);
    EXPECT_EQ(noised.coordinator->sums_done(), 1);
}

}  // namespace
}  // namespace couplet
