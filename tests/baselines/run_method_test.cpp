#include "couplet/baselines/run_method.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/sim/reference.hpp"
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

TEST(RunMethod, DispatchesToTheMethodsThatExisted) {
    const auto clients = [] { return cp_clients(3, {8, 5, 4}, 3); };
    EXPECT_EQ(run_on(clients(), "ctt", 2, {}).simulation.rse, simulate(MemorySource(clients()), with_rank(2)).rse);
    EXPECT_EQ(run_on(clients(), "centralized", 2, {}).simulation.rse,
              reference_centralized(MemorySource(clients()), with_rank(2)).rse);
    EXPECT_EQ(run_on(clients(), "local", 2, {}).simulation.rse,
              reference_local(MemorySource(clients()), with_rank(2)).rse);
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
    EXPECT_EQ(blamed(fourth(), "dpfact", with_rank(2)), "--method dpfact");
    EXPECT_EQ(blamed(cp_clients(2, {4, 3}, 1), "dpfact", with_rank(2)), "--method dpfact");
    EXPECT_EQ(blamed(cubes(), "dpsgd", {}), "--rank");
    EXPECT_EQ(blamed(cubes(), "dpsgd", with_rank(0)), "--rank");
    EXPECT_EQ(blamed(cp_clients(1, {4, 3, 2}, 1), "dpsgd", with_rank(2)), "--method dpsgd");
    EXPECT_EQ(blamed(cp_clients(1, {4, 3, 2}, 1), "cidertf", with_rank(2)), "--method cidertf");
    EXPECT_EQ(blamed({}, "trip", with_rank(2)), "clients");
    EXPECT_EQ(blamed(cubes(), "cidertf", with_rank(2), {.loss = Loss::logistic}), "client 1");
    for (const char* method : {"trip", "dpfact", "dpsgd"}) {
        EXPECT_EQ(blamed(cubes(), method, with_rank(2), {.loss = Loss::logistic}), "--loss") << method;
        EXPECT_EQ(blamed(cubes(), method, with_rank(2), {.compress = false}), "--no-compression") << method;
    }
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.rounds = 0}), "--rounds");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.tolerance = -1}), "--tolerance");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.evaluate_every = 0}), "stopping rule");
    EXPECT_EQ(blamed(cubes(), "trip", with_rank(2), {.tuning = {.step = 1}}), "--step");
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
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "--dry-run");
    options.dry_run = false;
    options.save_state = true;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "--save-state");
    options.save_state = false;
    options.heldout = 0.5;
    options.job.refit = false;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "--heldout");
    options.heldout = 1.5;
    EXPECT_EQ(blamed(cp_clients(2, {4, 3, 2}, 1), "trip", options), "--heldout");
}

}  // namespace
}  // namespace couplet
