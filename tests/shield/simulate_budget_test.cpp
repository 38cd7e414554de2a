#include "couplet/shield/simulate_budget.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/shield/simulate_shielded.hpp"
#include "datasets.hpp"

namespace couplet {
namespace {

MemorySource people(Index clients) {
    return MemorySource(support::synthetic_clients("1600x8x9:rank=6,noise=0.1", 3, clients));
}

SimulationOptions ranked(Index rank, Network network = Network::star) {
    SimulationOptions options;
    options.job.rank = rank;
    options.job.network = network;
    options.job.seed = 5;
    return options;
}

std::string refusal(SimulationOptions options, const BudgetOptions& budget, Index clients = 4) {
    try {
        simulate_budget(people(clients), std::move(options), budget);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(SimulateBudget, IsCloseToAllDataInBothNetworks) {
    const auto source = people(4);
    auto whole = ranked(6);
    whole.heldout = 0.2;
    const double best = *simulate(source, std::move(whole)).rse_heldout;
    for (const Network network : {Network::star, Network::decentralized}) {
        auto options = ranked(6, network);
        options.heldout = 0.2;
        const auto result = simulate_budget(source, std::move(options), {.mu = 50, .repeatable_noise = 1});
        EXPECT_LT(*result.simulation.rse_heldout, best + 0.02);
        EXPECT_EQ(result.privacy.threshold, network == Network::star ? 3 : 0);
        EXPECT_GT(result.simulation.bytes_up, 0);
        EXPECT_GT(result.simulation.rounds, 0);
        EXPECT_NE(result.privacy.withdrawn, "");
        EXPECT_NEAR(result.privacy.patients, 1280, 40);
    }
}

TEST(SimulateBudget, MasksAndPlacesChangeNothingButTheNoise) {
    const auto source = people(4);
    const auto with = [&](bool masked, NoisePlace place) {
        return simulate_budget(source, ranked(6), {.mu = 1000, .masked = masked, .place = place, .repeatable_noise = 7})
            .simulation.rse;
    };
    const double distributed = with(true, NoisePlace::distributed);
    EXPECT_NEAR(with(false, NoisePlace::local), distributed, 1e-3);
    EXPECT_NEAR(with(false, NoisePlace::central), distributed, 1e-3);
    EXPECT_NEAR(with(true, NoisePlace::local), distributed, 1e-3);
}

/// Masks are taken off to the last bit: the same noise gives the same features with and without them.
TEST(SimulateBudget, MaskedSumsAreExact) {
    const auto source = people(3);
    const BudgetOptions masked{.mu = 4, .masked = true, .place = NoisePlace::local, .repeatable_noise = 7};
    BudgetOptions open = masked;
    open.masked = false;
    EXPECT_EQ(simulate_budget(source, ranked(5), masked).simulation.rse,
              simulate_budget(source, ranked(5), open).simulation.rse);
}

TEST(SimulateBudget, NoiseIsNewEachTimeUnlessItIsSeeded) {
    const auto source = people(3);
    const auto rse = [&] { return simulate_budget(source, ranked(5), {.mu = 4}).simulation.rse; };
    EXPECT_NE(rse(), rse());
}

TEST(SimulateBudget, RefusesWhatItCannotPromise) {
    EXPECT_NE(refusal(ranked(3), {}, 2).find("2 clients"), std::string::npos);
    EXPECT_NE(refusal(ranked(3), {.masked = false}).find("distributed without"), std::string::npos);
    EXPECT_NE(refusal(ranked(3), {.place = NoisePlace::central}).find("central with"), std::string::npos);
    EXPECT_NE(refusal(ranked(3), {.mu = -1}).find("-1"), std::string::npos);
    auto scaled = ranked(3);
    scaled.scale_clients = true;
    EXPECT_NE(refusal(std::move(scaled), {}).find("norm under a budget"), std::string::npos);
    auto stacked = ranked(3);
    stacked.job.aggregate = Aggregate::stack;
    EXPECT_NE(refusal(std::move(stacked), {}).find("subspace"), std::string::npos);
    SimulationOptions no_rank;
    EXPECT_NE(refusal(std::move(no_rank), {}).find("rank"), std::string::npos);
}

}  // namespace
}  // namespace couplet
