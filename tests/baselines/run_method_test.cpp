#include "couplet/baselines/run_method.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "couplet/core/error.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

/// What the error blames; "" when nothing is thrown.
std::string blamed(Clients clients, const std::string& method, const SimulationOptions& options,
                   const BaselineOptions& baseline = {}) {
    SimulationOptions own;
    own.job = options.job;
    own.heldout = options.heldout;
    own.dry_run = options.dry_run;
    own.save_state = options.save_state;
    try {
        run_method(parse_method(method), MemorySource(std::move(clients)), std::move(own), baseline);
    } catch (const InputError& error) {
        return error.parts().where;
    }
    return "";
}

TEST(RunMethod, UntunedDefaultsLearnWithEveryMethod) {
    for (const char* method : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        const auto result = run_on(cp_clients(4, {20, 10, 8}, 4), method, 4, {.rounds = 100});
        EXPECT_LT(result.simulation.rse, 0.5) << method;
        EXPECT_LT(result.trace.back().rse, 0.7) << method;
        ASSERT_TRUE(result.tuning.has_value());
        EXPECT_EQ(*result.tuning, resolve_tuning(parse_method(method), {}, 4)) << method;
    }
}

TEST(RunMethod, TheSameSeedGivesTheSameResult) {
    const BaselineOptions baseline{.rounds = 10, .tuning = {.fibers = 10}};
    const auto rse = [&](std::uint64_t seed) {
        auto options = with_rank(2);
        options.job.seed = seed;
        return run_method(Method::dpsgd, MemorySource(cp_clients(2, {9, 6, 5}, 2)), std::move(options), baseline)
            .simulation.rse;
    };
    EXPECT_EQ(rse(3), rse(3));
    EXPECT_NE(rse(3), rse(4));
}

TEST(RunMethod, RefusesWhatItCannotDo) {
    const auto cubes = [] { return cp_clients(2, {4, 3, 2}, 1); };
    const auto fourth = [] { return cp_clients(2, {4, 3, 2, 2}, 1); };
    EXPECT_EQ(blamed(fourth(), "dpfact", with_rank(2)), "`method` dpfact");
    EXPECT_EQ(blamed(cp_clients(2, {4, 3}, 1), "dpfact", with_rank(2)), "`method` dpfact");
    EXPECT_EQ(blamed(cubes(), "dpsgd", {}), "`rank`");
    EXPECT_EQ(blamed(cubes(), "dpsgd", with_rank(0)), "`rank`");
    EXPECT_EQ(blamed(cp_clients(1, {4, 3, 2}, 1), "dpsgd", with_rank(2)), "`method` dpsgd");
    EXPECT_EQ(blamed(cp_clients(1, {4, 3, 2}, 1), "cidertf", with_rank(2)), "`method` cidertf");
    EXPECT_EQ(blamed({}, "trip", with_rank(2)), "clients");
    EXPECT_EQ(blamed(cubes(), "cidertf", with_rank(2), {.loss = Loss::logistic}), "client 1");
    for (const char* method : {"trip", "dpfact", "dpsgd"}) {
        EXPECT_EQ(blamed(cubes(), method, with_rank(2), {.loss = Loss::logistic}), "`loss`") << method;
        EXPECT_EQ(blamed(cubes(), method, with_rank(2), {.compress = false}), "`no_compression`") << method;
    }
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.rounds = 0}), "`rounds`");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.tolerance = -1}), "`tolerance`");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.evaluate_every = 0}), "stopping rule");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.tuning = {.step = 1}}), "`step`");
    auto mixed = cubes();
    mixed.push_back(normal_tensor({4, 3, 3}, 1));
    EXPECT_NE(blamed(std::move(mixed), "trip", with_rank(2)), "");
    auto broken = cubes();
    broken[1].data()[3] = NAN;
    EXPECT_EQ(blamed(std::move(broken), "trip", with_rank(2)), "client 2");
}

TEST(RunMethod, RefusesWhatOnlyTheFederationHas) {
    auto options = with_rank(2);
    options.dry_run = true;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "`dry_run`");
    options.dry_run = false;
    options.save_state = true;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "`save_state`");
    options.save_state = false;
    options.heldout = 0.5;
    options.job.refit = false;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "`heldout`");
    options.heldout = 1.5;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "`heldout`");
}

std::string refusal(Clients clients, const std::string& method, SimulationOptions options,
                    const BaselineOptions& baseline = {}) {
    try {
        run_method(parse_method(method), MemorySource(std::move(clients)), std::move(options), baseline);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(RunMethod, BoundsAreTakenAndOneBeyondIsRefused) {
    const auto with = [](const BaselineOptions& baseline, const std::string& method = "trip") {
        return refusal(cp_clients(2, {4, 3, 2}, 1), method, with_rank(1), baseline);
    };
    EXPECT_EQ(with({.rounds = 1}), "");
    EXPECT_EQ(with({.rounds = 0}), "`rounds`: 0; expected at least 1");
    EXPECT_EQ(with({.rounds = 1, .tolerance = 0}), "");
    EXPECT_EQ(with({.rounds = 1, .tolerance = 0.999}), "");
    EXPECT_EQ(with({.tolerance = 1}), "`tolerance`: 1.000000; expected 0 <= tolerance < 1");
    EXPECT_EQ(with({.tolerance = -0.5}), "`tolerance`: -0.500000; expected 0 <= tolerance < 1");
    EXPECT_NE(with({.tolerance = NAN}), "");
    EXPECT_EQ(with({.rounds = 1, .patience = 1, .evaluate_every = 1}), "");
    EXPECT_EQ(with({.patience = 0, .evaluate_every = 2}),
              "stopping rule: evaluations every 2 rounds, patience 0; expected at least 1 of both");
    EXPECT_EQ(with({.patience = 2, .evaluate_every = 0}),
              "stopping rule: evaluations every 0 rounds, patience 2; expected at least 1 of both");
    EXPECT_EQ(
        with({.loss = Loss::logistic}, "dpsgd"),
        "`loss`: logistic with `method` dpsgd; expected fedgtf-ef, fedgtf-ef-pc or cidertf, whose papers have it. "
        "Use `loss` square.");
    EXPECT_EQ(with({.compress = false}, "dpfact"),
              "`no_compression`: given with `method` dpfact; expected a method that compresses: fedgtf-ef, "
              "fedgtf-ef-pc or cidertf. Leave it out.");
    for (const char* method : {"fedgtf-ef", "fedgtf-ef-pc", "cidertf"}) {
        EXPECT_EQ(with({.rounds = 1, .compress = false}, method), "") << method;
    }
}

TEST(RunMethod, SimulationsThatMeanNothingAreRefusedByName) {
    const auto with = [](const std::function<void(SimulationOptions&)>& change, const std::string& method = "trip") {
        SimulationOptions options = with_rank(1);
        change(options);
        return refusal(cp_clients(2, {4, 3, 2}, 1), method, std::move(options), {.rounds = 1});
    };
    EXPECT_EQ(with([](auto& o) { o.job.rank.reset(); }),
              "`rank`: none with `method` trip; expected the rank of the CP model. For example: `rank` 10");
    EXPECT_EQ(with([](auto& o) { o.job.rank = 0; }), "`rank`: 0; expected a whole number, at least 1");
    EXPECT_EQ(with([](auto& o) { o.heldout = 1; }), "`heldout`: 1.000000; expected a fraction with 0 <= heldout < 1");
    EXPECT_EQ(with([](auto& o) { o.heldout = -0.1; }),
              "`heldout`: -0.100000; expected a fraction with 0 <= heldout < 1");
    EXPECT_EQ(with([](auto& o) { o.heldout = 0.99; }), "");
    EXPECT_EQ(with([](auto& o) {
                  o.heldout = 0.5;
                  o.job.refit = false;
              }),
              "`heldout`: held-out patients without a refit; expected `refit`. Without it there is no personal factor "
              "for new patients.");
    EXPECT_EQ(with([](auto& o) { o.job.refit = false; }), "");
    EXPECT_EQ(with([](auto& o) { o.dry_run = true; }), "`dry_run`: given with `method` trip; expected the method ctt");
    EXPECT_EQ(with([](auto& o) { o.save_state = true; }),
              "`save_state`: given with `method` trip; expected the method ctt");
    EXPECT_EQ(refusal({}, "trip", with_rank(1)),
              "clients: none; expected at least one client. Name at least one tensor file.");
    EXPECT_EQ(refusal(cp_clients(1, {4, 3, 2}, 1), "dpsgd", with_rank(1)),
              "`method` dpsgd: one client; expected at least two: peers need somebody to talk to. Name more files, or "
              "use `split` K.");
    EXPECT_EQ(refusal(cp_clients(2, {4, 3}, 1), "dpfact", with_rank(1)),
              "`method` dpfact: tensors of order 2; expected third order. The other methods take any order.");
}

TEST(RunMethod, GraphAndWeightsReachThePeers) {
    const auto lambda2 = [](const char* graph, std::optional<std::string> weights) {
        SimulationOptions options = with_rank(1);
        options.job.graph = graph;
        options.job.weights = std::move(weights);
        return run_method(Method::dpsgd, MemorySource(cp_clients(3, {4, 3, 2}, 1)), std::move(options), {.rounds = 1})
            .simulation.consensus->lambda2;
    };
    EXPECT_NEAR(lambda2("path", std::nullopt), 2.0 / 3, 1e-12);  // eq. M
    EXPECT_NEAR(lambda2("path", "best-constant"), 0.5, 1e-12);   // eigenvalues 1 and 3
    EXPECT_NEAR(lambda2("complete", std::nullopt), 0, 1e-12);
}

TEST(RunMethod, NoiseSilencesTheTrainingError) {
    const auto result = run_on(cp_clients(2, {9, 3, 2}, 1), "dpfact", 1,
                               {.rounds = 4, .evaluate_every = 1, .tuning = {.tau = 1, .clip = 1, .noise = 100}});
    EXPECT_EQ(result.simulation.numbers_total, 4 * 2 * 2 * (3 + 2));
    EXPECT_EQ(result.privacy->releases, 4 * 2);
    EXPECT_EQ(result.privacy->delta, 1e-5);
    EXPECT_NEAR(result.privacy->epsilon, 8 / (2 * 1e4) + 2 * std::sqrt(8 / (2 * 1e4) * std::log(1e5)), 1e-12);
}

}  // namespace
}  // namespace couplet
