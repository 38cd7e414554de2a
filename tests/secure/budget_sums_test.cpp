#include "couplet/secure/budget_sums.hpp"

#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "secure_test_support.hpp"

namespace couplet {
namespace {

support::Clients people(Index clients) { return support::population(clients, {60, 8, 9}, 4, 0.7, 0.05); }

double rse_of(const Features& features, const support::Clients& clients) {
    double error2 = 0;
    double norm2 = 0;
    for (const auto& x : clients) {
        const PersonalFit fit = refit(x.view(), features);
        error2 += fit.error2;
        norm2 += fit.norm2;
    }
    return error2 / norm2;
}

TEST(BudgetSums, EqualModuliThatFollowEachOtherAreOneStretch) {
    const BudgetSum sum{.step = 0.25, .variance = 9, .moduli = {7, 7, 1001, 7}};
    const std::vector<Stretch> stretches = stretches_of(sum);
    ASSERT_EQ(stretches.size(), 3U);
    EXPECT_EQ(stretches[0].numbers, 2);
    EXPECT_EQ(stretches[1].ring.modulus(), 1001U);
    EXPECT_EQ(stretches[2].step, 0.25);
    const std::vector<std::int64_t> values{-3, 3, -500, 2};
    const auto inside = within_rings(values, stretches);
    EXPECT_EQ(inside, (std::vector<std::uint64_t>{4, 3, 501, 2}));
    EXPECT_EQ(centred(inside, stretches), values);
}

TEST(BudgetSums, NoiseIsThatOfTheHonestOnesWhoStay) {
    const ShieldTerms terms{.policy = false, .colluders = 1, .clip = 2.0, .mu = 3.0};
    const BudgetTerms budget = budget_terms(subspace_job(5), {8, 9}, terms, 7, 5);
    EXPECT_EQ(budget.sites, 7);
    EXPECT_EQ(budget.noisy_sites, 4);
    EXPECT_EQ(budget.mu, 3);
    EXPECT_EQ(budget.clip, 2);
    EXPECT_EQ(budget.rank, 5);
    const BudgetJob job(budget);
    const ShieldPlan plan = budget_plan(subspace_job(5), job, terms);
    EXPECT_EQ(plan.mu, 3);
    EXPECT_DOUBLE_EQ(plan.noise->rho, 4.5);
    EXPECT_NEAR(plan.noise->guarantee.epsilon, epsilon_of_mu(3, 1e-5), 1e-12);
}

TEST(BudgetSums, BytesThatAreNoSumAreRefused) {
    BudgetJob job(budget_terms(subspace_job(5), {8, 9}, {.policy = false, .mu = 3.0}, 4, 3));
    EXPECT_THROW(open_sum(job, std::vector<std::uint8_t>(3, 0), 4), InputError);
    EXPECT_EQ(job.stage(), BudgetStage::counts);
}

/// The whole job through the state machines of the network.
TEST(BudgetSums, WithLittleNoiseAMaskedJobFitsAsThePlainOne) {
    SecureJob secure(people(5), subspace_job(4), {.policy = false, .mu = 900.0});
    std::map<std::size_t, int> asked;
    std::vector<Index> told;
    secure.tamper = [&](Party party, SecureRequest& request) {
        if (party != 0) return;
        ++asked[request.ask.index()];
        const auto* ask = std::get_if<AskNumbers>(&request.ask);
        if (ask == nullptr) return;
        EXPECT_TRUE(ask->counts.empty());
        EXPECT_EQ(ask->basis.size(), 0) << "everybody computes the bases itself";
        for (const OpenedSum& sum : ask->opened) told.push_back(sum.sum);
    };
    const Features& features = secure.run();
    const int sums = asked[2];
    EXPECT_GE(sums, 3);
    EXPECT_EQ(asked[0], 1);
    EXPECT_EQ(asked[3], 0);
    EXPECT_EQ(asked[4], sums);
    ASSERT_EQ(told.size(), static_cast<std::size_t>(sums - 1)) << "each sum is told once";
    for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], static_cast<Index>(i));
    const double plain_rse = rse_of(*plain(secure.clients, {0, 1, 2, 3, 4}, secure.job).features, secure.clients);
    const double rse = rse_of(features, secure.clients);
    EXPECT_LT(rse, 1.2 * plain_rse + 0.01);
    const ShieldReport report = secure.coordinator->report();
    ASSERT_TRUE(report.error);
    EXPECT_EQ(report.mu, 900);
    EXPECT_NEAR(static_cast<double>(secure.coordinator->plan()->patients), 300, 5);
    for (const SumRecord& record : secure.records) EXPECT_EQ(record.sums, sums);
}

TEST(BudgetSums, WhoeverIsLostIsInNoLaterSumAndTheJobGoesOn) {
    for (const Index sum : {0, 1, 2}) {
        SecureJob secure(people(7), subspace_job(4), {.policy = false, .mu = 900.0});
        secure.lost = [&](Party party, Index now, Index, std::size_t stage) {
            return (party == 2 || party == 5) && (now > sum || (now == sum && stage >= 2));
        };
        secure.run();
        EXPECT_EQ(secure.coordinator->cohort().size(), sum == 2 ? 7U : 5U);
        ASSERT_TRUE(secure.coordinator->report().error);
        EXPECT_LT(rse_of(secure.coordinator->features(), secure.clients), 0.5);
        EXPECT_EQ(secure.records[2].sums, sum);
    }
    SecureJob too_few(people(7), subspace_job(4), {.policy = false, .mu = 900.0});
    too_few.lost = [](Party party, Index now, Index, std::size_t stage) {
        return party < 3 && (now > 1 || (now == 1 && stage >= 2));
    };
    EXPECT_NE(too_few.refusal().find("secure sum: 4 clients with numbers"), std::string::npos);
    EXPECT_EQ(too_few.revealed, 7) << "the counts alone";
}

/// Clip, bases and noise follow from the sums that were opened: another story for one site makes its numbers nobody's.
TEST(BudgetSums, AnotherStoryOfWhatWasOpenedIsNoticed) {
    SecureJob secure(people(5), subspace_job(4), {.policy = false, .mu = 4.0});
    while (secure.coordinator->sum() < 1) secure.step();
    Endorsements signatures;
    for (const Party party : secure.coordinator->asked()) {
        SecureRequest request = secure.coordinator->request(party);
        auto& ask = std::get<AskNumbers>(request.ask);
        if (party == 1) ask.opened.front().sites -= 1;
        const SecureReply reply = secure.machines[static_cast<std::size_t>(party)]->answer(request);
        signatures[party] = std::get<MaskedNumbers>(reply.answer).signature;
    }
    for (const std::size_t k : {0, 2, 3, 4}) {
        EXPECT_THROW(secure.machines[k]->answer({1, 0, AskUnmasking{signatures}}), InputError) << k;
    }
    SecureJob skipping(people(5), subspace_job(4), {.policy = false, .mu = 4.0});
    skipping.tamper = [](Party party, SecureRequest& request) {
        auto* ask = std::get_if<AskNumbers>(&request.ask);
        if (party == 1 && ask != nullptr) ask->opened.clear();
    };
    EXPECT_NE(skipping.refusal().find("all sums before it, opened"), std::string::npos);
}

/// What is read of the same data twice differs by the noise, as much as was promised.
TEST(BudgetSums, HaveNoiseThatNobodyCanTakeAway) {
    const auto read = [] {
        SecureJob secure(people(4), subspace_job(4), {.policy = false, .clip = 3.0, .mu = 1.0});
        while (secure.coordinator->sum() < 1) secure.step();
        return secure.coordinator->plan()->patients;
    };
    std::set<Index> seen;
    for (int run = 0; run < 8; ++run) seen.insert(read());
    EXPECT_GT(seen.size(), 2U) << "a count of 240 with noise of several patients";
}

}  // namespace
}  // namespace couplet
