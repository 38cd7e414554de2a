#include "couplet/shield/simulate_shielded.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "datasets.hpp"

namespace couplet {
namespace {

MemorySource people(Index clients) {
    return MemorySource(support::synthetic_clients("120x8x9:rank=6,noise=0.1", 3, clients));
}

SimulationOptions ranked(Index rank, Network network = Network::star, Sketch sketch = Sketch::random) {
    SimulationOptions options;
    options.job.rank = rank;
    options.job.network = network;
    options.job.aggregate = Aggregate::subspace;
    options.job.sketch = sketch;
    options.job.seed = 5;
    return options;
}

/// ||V1 V1^T - V2 V2^T|| / ||V1 V1^T|| of the features' row spaces.
double projector_distance(const Features& a, const Features& b) {
    const auto x = a.train.full();
    const auto y = b.train.full();
    const auto rows = [](const Tensor<double>& t) {
        return MatrixView<const double>(t.data(), t.shape()[0], t.size() / t.shape()[0]);
    };
    const auto across = product<double>(rows(x), rows(y), Op::none, Op::transpose);
    const auto rank = static_cast<double>(x.shape()[0]);
    // Orthonormal rows: ||P - Q||^2 = 2 (r - ||V1 V2^T||^2), measured as the part of V2 outside V1.
    auto rest = Matrix<double>::copy(rows(y));
    multiply<double>(across.view(), Op::transpose, rows(x), Op::none, rest.view(), -1, 1);
    return std::sqrt(2 * squared_norm<double>(rest.view()) / rank);
}

std::string refusal(const ClientSource& source, SimulationOptions options, const ShieldOptions& shield) {
    try {
        simulate_shielded(source, std::move(options), shield);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Shielded, SecureSumsEqualPlainOnes) {
    const auto source = people(4);
    const auto plain = simulate(source, ranked(6));
    const auto secure = simulate_shielded(source, ranked(6), {.secure = true});
    EXPECT_LT(projector_distance(*plain.features, *secure.simulation.features), 1e-9);
    EXPECT_NEAR(secure.simulation.rse, plain.rse, 1e-9);
    EXPECT_EQ(secure.privacy.threshold, 3);
    EXPECT_EQ(secure.privacy.sums, 4);
    EXPECT_EQ(secure.privacy.ring_bits, 54);
    EXPECT_EQ(secure.simulation.numbers_up_per_client, plain.numbers_up_per_client);
    EXPECT_FALSE(secure.privacy.clip);
}

TEST(Shielded, RoundingOfMaskedSumsIsNoFeature) {
    for (const Network network : {Network::star, Network::decentralized}) {
        for (const double unit : {1.0, 3.0, 7.0}) {
            auto clients = support::synthetic_clients("120x8x9:rank=3,noise=0", 3, 4);
            // One record a thousand times as long as the others: the step of the sums follows it.
            for (double& value : clients.front().elements().first(72)) value *= 1000;
            for (auto& x : clients) {
                for (double& value : x.elements()) value *= unit;
            }
            const auto secure = simulate_shielded(MemorySource(std::move(clients)), ranked(6, network),
                                                  {.secure = true, .policy = false});
            EXPECT_EQ(secure.simulation.ranks.front(), 3) << unit;
            EXPECT_EQ(secure.simulation.personal_ranks, std::vector<Index>(4, 3));
        }
    }
}

TEST(Shielded, SecureGramMatricesToo) {
    const auto source = people(3);
    const auto plain = simulate(source, ranked(6, Network::star, Sketch::gram));
    const auto secure = simulate_shielded(source, ranked(6, Network::star, Sketch::gram), {.secure = true});
    EXPECT_LT(projector_distance(*plain.features, *secure.simulation.features), 1e-9);
    EXPECT_EQ(secure.privacy.sums, 1);
}

TEST(Shielded, SecurePeersEqualThePlainStar) {
    const auto source = people(8);
    const auto plain = simulate(source, ranked(6));
    auto options = ranked(6, Network::decentralized);
    options.job.graph = "paper8";
    const auto secure = simulate_shielded(source, std::move(options), {.secure = true});
    EXPECT_LT(projector_distance(*plain.features, *secure.simulation.features), 1e-9);
}

TEST(Shielded, ThePolicyChangesTheJobAndClips) {
    const auto source = people(4);
    ShieldReport heard;
    const auto done = simulate_shielded(source, ranked(6), {.secure = true, .policy = true},
                                        [&](const ShieldReport& report) { heard = report; });
    // Of four clients of 30 patients one may be lost and another collude: 6 directions of 60.
    EXPECT_EQ(done.privacy.changes, (std::vector<std::string>{"passes 3 -> 1", "oversampling 10 -> 0"}));
    EXPECT_EQ(heard.changes, done.privacy.changes);
    // The result says what was run, not what was asked for.
    EXPECT_EQ(done.simulation.job.passes, 1);
    EXPECT_EQ(done.simulation.job.oversampling, 0);
    EXPECT_EQ(done.privacy.directions, 6);
    ASSERT_TRUE(done.privacy.clip);
    EXPECT_GT(done.privacy.clipped, 0);
    EXPECT_LE(done.privacy.clipped, 12 + 1);
    EXPECT_NE(
        refusal(people(12), ranked(6), {.secure = true, .policy = true, .limits = {.patients_per_direction = 200}})
            .find("honest patients"),
        std::string::npos);
}

TEST(Shielded, WhatIsAllowedButCloseIsAWarning) {
    const auto warned = [](double patients_per_direction) {
        const LeakageLimits limits{.warn_patients_per_direction = patients_per_direction};
        return simulate_shielded(people(4), ranked(6), {.secure = true, .policy = true, .limits = limits})
            .privacy.warnings;
    };
    EXPECT_TRUE(warned(10).empty());
    const auto close = warned(1000);
    ASSERT_EQ(close.size(), 1U);
    EXPECT_EQ(close[0].rfind("6 directions are shown of ", 0), 0U) << close[0];
    EXPECT_NE(close[0].find("more than one in 1000"), std::string::npos) << close[0];
}

/// One patient who is far longer than the clip, at each client in turn, is what a clipped record of the same direction
/// is: nobody's record is left long, and nobody's is counted twice.
TEST(Shielded, EveryClientClips) {
    for (std::size_t k = 0; k < 3; ++k) {
        double clip = 0;
        const auto source = [&](double times) {
            auto clients = support::synthetic_clients("120x8x9:rank=6,noise=0.1", 3, 3);
            for (const auto& client : clients) {
                for (const double norm : row_norms(client.view())) clip = std::max(clip, 2 * norm);
            }
            const auto row = clients[k].view().unfold(1);
            const double length = row_norms(clients[k].view())[0];
            for (Index j = 0; j < row.cols; ++j) row(0, j) *= times * clip / length;
            return MemorySource(std::move(clients));
        };
        const auto as_long = source(1);
        const auto longer = source(50);
        const auto run = [&](const ClientSource& clients) {
            return simulate_shielded(clients, ranked(6), {.secure = true, .clip = clip});
        };
        const auto done = run(longer);
        EXPECT_EQ(done.privacy.clipped, 1) << "client " << k + 1;
        EXPECT_LT(projector_distance(*run(as_long).simulation.features, *done.simulation.features), 1e-6)
            << "client " << k + 1;
    }
}

TEST(Shielded, RefusesWhatIsNotSafeOrMeansNothing) {
    EXPECT_NE(refusal(people(2), ranked(6), {.secure = true}).find("`secure`: 2 clients"), std::string::npos);
    auto stack = ranked(6);
    stack.job.aggregate = Aggregate::stack;
    stack.job.sketch = Sketch::automatic;
    EXPECT_NE(refusal(people(3), std::move(stack), {.secure = true}).find("`aggregate`: stack"), std::string::npos);
    EXPECT_NE(refusal(people(3), ranked(6), {.guarantee = PrivacyGuarantee{1, 1e-5}}).find("`clip`: missing"),
              std::string::npos);
    const ShieldOptions noised{.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 1};
    auto scaled = ranked(6);
    scaled.scale_clients = true;
    EXPECT_NE(refusal(people(3), std::move(scaled), noised).find("`scale_clients`: norm with `dp_epsilon`"),
              std::string::npos);
    auto heldout = ranked(6);
    heldout.heldout = 0.2;
    EXPECT_NE(refusal(people(3), std::move(heldout), noised).find("`heldout`: given with `dp_epsilon`"),
              std::string::npos);
    EXPECT_NE(refusal(people(3), ranked(6), {.policy = true}).find("`policy`: on without `secure`"), std::string::npos);
    EXPECT_NE(refusal(people(3), ranked(6),
                      {.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 1, .noise = NoisePlace::distributed})
                  .find("distributed without `secure`"),
              std::string::npos);
}

TEST(Shielded, NoiseIsWhatThePlanSays) {
    const auto source = people(4);
    const double clip = 50;  // nothing is longer
    const auto exact = simulate(source, ranked(6));
    const auto with = [&](double epsilon, NoisePlace place, bool secure) {
        return simulate_shielded(
            source, ranked(6),
            {.secure = secure, .guarantee = PrivacyGuarantee{epsilon, 1e-5}, .clip = clip, .noise = place});
    };
    // So little noise that nothing is lost, in every place.
    for (const NoisePlace place : {NoisePlace::local, NoisePlace::central}) {
        const auto done = with(1e8, place, false);
        EXPECT_NEAR(done.simulation.rse, exact.rse, 5e-3);
        EXPECT_EQ(done.privacy.noise->releases, 4);
    }
    const auto distributed = with(1e8, NoisePlace::distributed, true);
    EXPECT_NEAR(distributed.simulation.rse, exact.rse, 5e-3);
    // Three survivors, one of whom may collude.
    EXPECT_NEAR(distributed.privacy.noise->own, distributed.privacy.noise->sigma / std::sqrt(2.0), 1e-9);
    // And so much that nothing is left.
    const auto drowned = with(0.01, NoisePlace::local, false);
    EXPECT_GT(drowned.simulation.rse, 0.5);
    EXPECT_GT(*drowned.privacy.patients_needed, 1e5);
    EXPECT_FALSE(drowned.privacy.expected_loss);
}

/// Noise that follows from the job's seed, which everybody knows, would be nobody's noise.
TEST(Shielded, NoiseIsSecretAndFreshInEveryRun) {
    const auto source = people(3);
    for (const NoisePlace place : {NoisePlace::local, NoisePlace::central, NoisePlace::distributed}) {
        const auto sigma = [&](std::optional<std::uint64_t> seed) {
            const auto done = simulate_shielded(source, ranked(6, Network::star, Sketch::gram),
                                                {.secure = place == NoisePlace::distributed,
                                                 .guarantee = PrivacyGuarantee{1, 1e-5},
                                                 .clip = 2,
                                                 .noise = place,
                                                 .repeatable_noise = seed});
            EXPECT_EQ(done.privacy.withdrawn.empty(), !seed);
            return done.simulation.features->sigma;
        };
        EXPECT_NE(sigma({}), sigma({})) << to_string(place);
        EXPECT_EQ(sigma(7), sigma(7)) << to_string(place);
        EXPECT_NE(sigma(7), sigma(8)) << to_string(place);
    }
}

TEST(Shielded, UnderAGuaranteeNothingThatIsSaidCountsPatients) {
    const ShieldOptions shield{
        .secure = true, .policy = true, .guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 2, .repeatable_noise = 1};
    const auto run = [&](Index patients) {
        auto clients = support::synthetic_clients("120x8x9:rank=6,noise=0.1", 3, 3);
        Tensor<double> fewer({patients, 8, 9});
        std::copy_n(clients[2].data(), fewer.size(), fewer.data());
        clients[2] = std::move(fewer);
        return simulate_shielded(MemorySource(std::move(clients)), ranked(40), shield);
    };
    const auto one = run(29);
    const auto more = run(40);
    EXPECT_FALSE(one.privacy.policy);
    EXPECT_TRUE(one.privacy.changes.empty());
    EXPECT_FALSE(one.privacy.clipped);
    EXPECT_EQ(one.privacy.warnings, more.privacy.warnings);
    EXPECT_EQ(one.privacy.patients_needed, more.privacy.patients_needed);
    EXPECT_EQ(one.privacy.directions, more.privacy.directions);
    EXPECT_EQ(one.simulation.ranks, more.simulation.ranks);
}

TEST(Shielded, TheLossIsExpectedFromPublicNumbers) {
    const auto expected = [](Index patients) {
        return *simulate_shielded(people(3), ranked(2),
                                  {.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 2, .public_patients = patients})
                    .privacy.expected_loss;
    };
    EXPECT_EQ(expected(10), 1);
    EXPECT_NEAR(expected(2'000'000) / expected(1'000'000), 0.5, 1e-12);
}

TEST(Shielded, WhatNoiseCostsFollowsTheNormsOfTheRecords) {
    const auto source = people(3);
    const double exact = simulate(source, ranked(2, Network::star, Sketch::gram)).rse;
    const auto with_clip = [&](double clip, double epsilon) {
        return simulate_shielded(source, ranked(2, Network::star, Sketch::gram),
                                 {.guarantee = PrivacyGuarantee{epsilon, 1e-5},
                                  .clip = clip,
                                  .noise = NoisePlace::central,
                                  .public_patients = 1'000'000'000,
                                  .repeatable_noise = 1});
    };
    // A clip far above the norms: expected of records at the clip next to nothing, and everything is lost.
    const auto far = with_clip(1e4, 1);
    EXPECT_LT(*far.privacy.expected_loss, 0.01);
    EXPECT_EQ(*far.privacy.noise_cost, 1);
    // One above all of them and hardly any noise: what was lost is below what is stated, and that is below all.
    const auto near = with_clip(40, 1e7);
    EXPECT_LT(*near.privacy.noise_cost, 0.9);
    EXPECT_LE(near.simulation.rse - exact, *near.privacy.noise_cost);
}

TEST(Shielded, EmptyRecordsHideNobody) {
    const auto clients = [](Index real) {
        std::vector<Tensor<double>> all;
        for (auto& x : support::synthetic_clients("300x8x9:rank=6,noise=0.1", 3, 3)) {
            const auto rows = x.view().unfold(1);
            for (Index i = real; i < rows.rows; ++i) std::fill_n(rows.row(i), rows.cols, 0.0);
            all.push_back(std::move(x));
        }
        return MemorySource(std::move(all));
    };
    const ShieldOptions shield{.secure = true, .policy = true};
    EXPECT_NE(refusal(clients(3), ranked(9), shield).find("honest patients"), std::string::npos);
    const auto few = simulate_shielded(clients(9), ranked(9), shield);
    EXPECT_EQ(few.privacy.directions, 1);
    EXPECT_TRUE(few.privacy.clip);
}

TEST(ShieldedFigures, NoiseIsNearlyFreeForFiftyThousandPeople) {
    if (std::getenv("COUPLET_DATA") == nullptr) GTEST_SKIP() << "COUPLET_DATA is not set";
    const auto all = load_diabetes(find_data_file(DataFile::diabetes), {.count = 50'000});
    const auto source = MemorySource(split_rows(all.tensor.view(), 4));
    const double clip = quantile(row_norms(all.tensor.view()), 0.5);
    const auto exact = simulate(source, ranked(10, Network::star, Sketch::gram));
    const auto noised =
        simulate_shielded(source, ranked(10, Network::star, Sketch::gram),
                          {.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = clip, .noise = NoisePlace::central});
    EXPECT_NEAR(noised.privacy.noise->sigma, 3.73 * clip * clip, 0.01 * clip * clip);
    EXPECT_LT(std::abs(noised.simulation.rse - exact.rse), 0.01) << exact.rse << " -> " << noised.simulation.rse;
    RecordProperty("rse_exact", std::to_string(exact.rse));
    RecordProperty("rse_noised", std::to_string(noised.simulation.rse));
}

}  // namespace
}  // namespace couplet
