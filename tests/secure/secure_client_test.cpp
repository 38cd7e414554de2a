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
    SecureRequest more{2, 0, AskNumbers{}};
    try {
        secure.machines[0]->answer(more);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_SAYS(error.what(), "sum 3 of the job; expected 2, as the job said at its start");
    }
}

TEST(SecureClient, NoticesAWiderSumAndABasisThatIsNone) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 2)) ask->basis = Matrix<double>::identity(72);
                }),
                "a sum 72 columns wide; expected at most 15");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 4)) ask->basis = Matrix<double>::identity(72);
                }),
                "a sum 72 columns wide; expected at most 15");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskNumbers>(request, 4);
                    if (ask == nullptr) return;
                    ask->basis = Matrix<double>::identity(72);
                    ask->extends = false;
                }),
                "a sum 72 columns wide; expected at most 45");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 3)) ask->extends = true;
                }),
                "part of a basis; expected all of it, but for the last sum");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 2)) ask->basis.data()[0] *= 1000;
                }),
                "not orthonormal");
}

TEST(SecureClient, NoticesOtherCounts) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 2))
                        ask->counts = std::vector<std::uint64_t>(census_length, 5);
                }),
                "other counts of patients than before");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 1)) ask->counts.assign(ask->counts.size(), 0);
                }),
                "counts of 0 patients; expected at least the 30 of this client");
    // The same by a client that was started again in between.
    SecureJob secure(people(4), subspace_job(5));
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party != 1 || request.sum != 2) return;
        if (request.again == 0) return secure.restart(1);
        if (auto* ask = in_sum<AskNumbers>(request, 2)) ++ask->counts.at(1000);
    };
    EXPECT_SAYS(secure.refusal(), "other counts of patients than before");
}

/// What party 0 says to everybody's keys when party 1 was told something else before them.
TEST(SecureClient, KeysOfAClientThatWasToldSomethingElseCountWithNobody) {
    // Another share held out, another seed, another order of the features: whatever the job said at its start.
    for (const bool lie : {false, true}) {
        SecureJob secure(people(5), subspace_job(5));
        if (lie) {
            secure.told = Key{5};
            secure.restart(1);
        }
        AskShares shares;
        for (const Party party : secure.coordinator->asked()) {
            const SecureReply reply =
                secure.machines[static_cast<std::size_t>(party)]->answer(secure.coordinator->request(party));
            shares.roster[party] = std::get<Announced>(reply.answer);
        }
        if (!lie) {
            EXPECT_NO_THROW(secure.machines[0]->answer({0, 0, shares}));
            continue;
        }
        try {
            secure.machines[0]->answer({0, 0, shares});
            FAIL();
        } catch (const InputError& error) {
            EXPECT_SAYS(error.what(), "keys of client 2 with a wrong signature");
        }
    }
}

/// A coordinator tells party 1 something else of sum `sum`, and passes on to the others what party 1 signed.
std::string caught_by_others(Index sum, const std::function<void(AskNumbers&)>& change) {
    SecureJob secure(people(5), subspace_job(5));
    while (secure.coordinator->sum() < sum) secure.step();
    Endorsements signatures;
    for (const Party party : secure.coordinator->asked()) {
        SecureRequest request = secure.coordinator->request(party);
        if (party == 1 && change) change(std::get<AskNumbers>(request.ask));
        const SecureReply reply = secure.machines[static_cast<std::size_t>(party)]->answer(request);
        signatures[party] = std::get<MaskedNumbers>(reply.answer).signature;
    }
    std::string said;
    for (const std::size_t k : {0, 2, 3, 4}) {
        try {
            secure.machines[k]->answer({sum, 0, AskUnmasking{signatures}});
        } catch (const InputError& error) {
            said = error.what();
            continue;
        }
        if (change) return "not noticed by party " + std::to_string(k);
    }
    return said;
}

/// With A and -A at one client, and the same at all others, half the difference would be that client's own sum.
TEST(SecureClient, NobodyHelpsToReadASumOfWhichOneWasToldSomethingElse) {
    const auto words = "a signature of client 2 under another sum than this client was asked for";
    EXPECT_EQ(caught_by_others(2, {}), "") << "the truth";
    for (const Index sum : {2, 4}) {
        EXPECT_SAYS(caught_by_others(sum,
                                     [](AskNumbers& ask) {
                                         for (Index i = 0; i < ask.basis.size(); ++i) ask.basis.data()[i] *= -1;
                                     }),
                    words);
    }
    EXPECT_SAYS(caught_by_others(1, [](AskNumbers& ask) { ask.members.erase(4); }), words);
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

/// Client 5 sends no numbers of the first sum over the data, so that survivors are asked about.
void lose_the_last(SecureJob& secure) {
    secure.lost = [](Party party, Index sum, Index, std::size_t stage) { return party == 4 && sum == 1 && stage >= 2; };
}

TEST(SecureClient, NoticesAClientThatIsBothAliveAndLost) {
    EXPECT_SAYS(caught(
                    [](SecureRequest& request) {
                        if (auto* ask = in_sum<AskEndorsement>(request, 1)) ask->survivors.dropped.insert(3);
                    },
                    subspace_job(5), lose_the_last),
                "client 4 as both alive and lost");
}

TEST(SecureClient, NoticesOtherSurvivorsThanThoseOfTheSumsBefore) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    if (auto* ask = in_sum<AskNumbers>(request, 2)) ask->members.erase(3);
                }),
                "4 other clients than the sums before; expected the same 5");
}

TEST(SecureClient, NoticesSwappedKeysAndALyingRoster) {
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 0);
                    if (ask != nullptr) ask->roster.at(3).keys.masking[1] = public_key(Secret::random());
                }),
                "keys of client 4 with a wrong signature");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 0);
                    if (ask != nullptr) ask->roster[4] = ask->roster.at(3);
                }),
                "client hospital-4 twice in the roster");
    EXPECT_SAYS(caught([](SecureRequest& request) {
                    auto* ask = in_sum<AskShares>(request, 0);
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
