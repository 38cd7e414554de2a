#include "couplet/secure/secure_client.hpp"

#include "secure_test_support.hpp"

namespace couplet {
namespace {

support::Clients people(Index clients) { return support::population(clients, {30, 8, 9}, 6, 0.7, 0.05); }

/// What the clients say when the coordinator tells party 1 something else than the truth.
std::string caught(const std::function<void(SecureRequest&)>& change, Job job = subspace_job(5),
                   const std::function<void(SecureJob&)>& prepare = {}) {
    SecureJob secure(people(5), std::move(job));
    if (prepare) prepare(secure);
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party == 1) change(request);
    };
    return secure.refusal();
}

template <class Ask>
Ask* in_sum(SecureRequest& request, Index sum) {
    return request.sum == sum ? std::get_if<Ask>(&request.ask) : nullptr;
}

#define EXPECT_SAYS(text, words) EXPECT_NE(std::string(text).find(words), std::string::npos) << (text)

TEST(SecureClient, AnswersEachSumOnceWhoeverAsks) {
    SecureJob secure(people(4), subspace_job(5, Sketch::gram));
    secure.run();
    EXPECT_EQ(secure.records[0].sums, 2);
    EXPECT_EQ(secure.records[0].cohort, (std::set<Party>{0, 1, 2, 3}));
    // The same job again, from its beginning: the client's process is new, its record is not.
    secure.restart_coordinator();
    for (std::size_t k = 0; k < 4; ++k) secure.restart(k);
    EXPECT_SAYS(secure.refusal(), "sum 1 of this job once more");
    EXPECT_EQ(secure.revealed, 8);
}

TEST(SecureClient, NoticesOneMoreSum) {
    SecureJob secure(people(4), subspace_job(5, Sketch::gram));
    secure.run();
    SecureRequest more{2, 0, AskKeys{}};
    try {
        secure.machines[0]->answer(more);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_SAYS(error.what(), "sum 3 of the job; expected 2, as the job said at its start");
    }
}

TEST(SecureClient, NoticesAWiderSumAndABasisThatIsNone) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskKeys>(request, 2)) ask->basis = Matrix<double>::identity(72);
                }),
                "a sum 72 columns wide; expected at most 15");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskKeys>(request, 4)) ask->basis = Matrix<double>::identity(72);
                }),
                "a sum 72 columns wide; expected at most 45");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskKeys>(request, 2)) ask->basis.data()[0] *= 1000;
                }),
                "not orthonormal");
}

TEST(SecureClient, NoticesOtherCounts) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskKeys>(request, 2)) ask->counts[1000] += 100'000;
                }),
                "other counts of patients than before");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskKeys>(request, 1)) ask->counts.assign(ask->counts.size(), 0);
                }),
                "counts of 0 patients; expected at least the 30 of this client");
    // The same by a client that was started again in between.
    SecureJob secure(people(4), subspace_job(5));
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party != 1 || in_sum<AskKeys>(request, 2) == nullptr) return;
        secure.restart(1);
        ++in_sum<AskKeys>(request, 2)->counts[1000];
    };
    EXPECT_SAYS(secure.refusal(), "other counts of patients than before");
}

/// What party 0 says to everybody's keys for a sum when party 1 was told something else with it.
std::string caught_by_others(Index sum, const std::function<void(SecureJob&)>& lie,
                             const std::function<void(AskKeys&)>& change) {
    SecureJob secure(people(5), subspace_job(5));
    while (secure.coordinator->sum() < sum) secure.step();
    if (lie) lie(secure);
    AskShares shares;
    for (const Party party : secure.coordinator->asked()) {
        SecureRequest request = secure.coordinator->request(party);
        if (party == 1 && change) change(std::get<AskKeys>(request.ask));
        const SecureReply reply = secure.machines[static_cast<std::size_t>(party)]->answer(request);
        shares.roster[party] = std::get<Announced>(reply.answer);
    }
    try {
        secure.machines[0]->answer({sum, 0, shares});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(SecureClient, KeysOfAClientThatWasToldSomethingElseCountWithNobody) {
    const auto words = "keys of client 2 with a wrong signature";
    EXPECT_EQ(caught_by_others(2, {}, {}), "") << "the truth";
    // With A and -A at one client, and the same at all others, half the difference is that client's own sum.
    EXPECT_SAYS(caught_by_others(2, {},
                                 [](AskKeys& ask) {
                                     for (Index i = 0; i < ask.basis.size(); ++i) ask.basis.data()[i] *= -1;
                                 }),
                words);
    // Another share held out, another seed, another order of the features: whatever the job said at its start.
    const auto another_start = [](SecureJob& secure) {
        secure.told = Key{5};
        secure.restart(1);
    };
    EXPECT_SAYS(caught_by_others(0, another_start, {}), words);
}

TEST(SecureClient, OneNameIsOneJob) {
    SecureJob secure(people(4), subspace_job(5));
    while (secure.coordinator->sum() < 1) secure.step();
    EXPECT_NO_THROW(secure.restart(1));
    const SumRecord mine = secure.records[1];
    secure.told = Key{9};
    EXPECT_THROW(secure.restart(1), InputError) << "what was promised when the counts were read";
    secure.told = Key{4};
    secure.records[1] = secure.records[2];
    EXPECT_THROW(secure.restart(1), InputError) << "another place: other patients are held out";
    secure.records[1] = mine;
    EXPECT_NO_THROW(secure.restart(1));
}

TEST(SecureClient, NoticesAClientThatIsBothAliveAndLost) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskEndorsement>(request, 1)) ask->survivors.dropped.insert(3);
                }),
                "client 4 as both alive and lost");
}

TEST(SecureClient, NoticesOtherSurvivorsThanThoseOfTheSumsBefore) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskEndorsement>(request, 2);
                    if (ask == nullptr) return;
                    ask->survivors.alive.erase(3);
                    ask->survivors.dropped.insert(3);
                }),
                "4 other clients than the sums before; expected the same 5");
}

TEST(SecureClient, NoticesSwappedKeysAndALyingRoster) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 1);
                    if (ask != nullptr) ask->roster.at(3).keys.masking = public_key(Secret::random());
                }),
                "keys of client 4 with a wrong signature");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 1);
                    if (ask != nullptr) ask->roster[4] = ask->roster.at(3);
                }),
                "client hospital-4 twice in the roster");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 1);
                    if (ask != nullptr) ask->roster[5] = {ask->roster.at(3).keys, "nobody"};
                }),
                "one that nobody issued");
}

TEST(SecureClient, NoticesASmallCohort) {
    const auto demanding = [](SecureJob& secure) {
        secure.demands.min_cohort = 5;
        secure.restart(1);
    };
    EXPECT_SAYS(caught(
                    [](SecureRequest& request) {
                        if (auto* ask = in_sum<AskShares>(request, 0)) ask->roster.erase(4);
                    },
                    subspace_job(5), demanding),
                "a roster of 4 clients; expected at least 5, as this client's policy says");
    SecureJob small(people(3), subspace_job(5));
    small.demands.min_cohort = 4;
    EXPECT_THROW(small.restart(0), InputError);
}

TEST(SecureClient, GivesNoKeysTwiceForTheSameTry) {
    SecureJob secure(people(3), subspace_job(5));
    const SecureRequest request = secure.coordinator->request(0);
    secure.machines[0]->answer(request);
    EXPECT_THROW(secure.machines[0]->answer(request), InputError);
    SecureRequest fresh{0, 1, AskKeys{}};
    EXPECT_NO_THROW(secure.machines[0]->answer(fresh));
}

TEST(SecureClient, HearsThePlanBeforeAnythingIsComputedFromItsData) {
    SecureJob secure(people(4), subspace_job(5));
    SecureClient::Options options{
        .job = secure.id,
        .self = 1,
        .clients = 4,
        .told = secure.told,
        .terms = secure.terms,
        .notary = secure.authority.notary(1),
        .on_plan = [](const ShieldPlan& plan) {
            throw InputError({"this site's policy", std::to_string(plan.directions), "fewer", ""});
        }};
    secure.machines[1] = std::make_unique<SecureClient>(secure.job, secure.clients[1].view(), std::move(options));
    EXPECT_SAYS(secure.refusal(), "this site's policy: 45");
}

/// What travels of a client's numbers is masks to whoever lacks the others' secrets: two inputs with the same sum.
TEST(SecureClient, MaskedNumbersOfDifferentDataAreAlike) {
    std::vector<double> shares;
    for (const bool swapped : {false, true}) {
        auto clients = people(4);
        if (swapped) std::swap(clients[0], clients[1]);  // the same sum
        SecureJob secure(std::move(clients), subspace_job(5, Sketch::gram));
        std::vector<double> counts(256, 0);
        double total = 0;
        secure.heard = [&](Party party, const SecureReply& reply) {
            const auto* masked = std::get_if<MaskedNumbers>(&reply.answer);
            if (masked == nullptr || party != 0) return;
            for (const auto byte : masked->bytes) ++counts[byte];
            total += static_cast<double>(masked->bytes.size());
        };
        secure.run();
        double chi2 = 0;
        for (const double count : counts) chi2 += (count - total / 256) * (count - total / 256) / (total / 256);
        EXPECT_LT(chi2, 255 + 6 * 22.6);
    }
}

}  // namespace
}  // namespace couplet
