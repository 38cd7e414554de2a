#include "simulation_method.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/sim/reference.hpp"
#include "federations.hpp"

namespace couplet::cli {
namespace {

using namespace support;

SimulationOptions with_rank(Index rank) {
    SimulationOptions options;
    options.job.rank = rank;
    return options;
}

MemorySource patients() { return MemorySource(population(3, {8, 5, 4}, 3, 0.7, 0.1, 2)); }

TEST(SimulationMethod, OursIsFirstAndTheBaselinesFollowTheReferences) {
    EXPECT_EQ(simulation_methods(),
              (std::vector<std::string>{"ctt", "centralized", "local", "fedsvd", "trip", "fedgtf-ef", "fedgtf-ef-pc",
                                        "dpfact", "dpsgd", "cidertf"}));
}

TEST(SimulationMethod, KnowsWhichAreBaselinesAndWhichTrainACpModel) {
    for (const char* name : {"ctt", "centralized", "local"}) {
        EXPECT_FALSE(baseline_named(name).has_value()) << name;
        EXPECT_FALSE(trains_cp(name)) << name;
    }
    EXPECT_EQ(baseline_named("fedsvd"), Method::fedsvd);
    EXPECT_FALSE(trains_cp("fedsvd"));
    EXPECT_EQ(baseline_named("cidertf"), Method::cidertf);
    EXPECT_TRUE(trains_cp("cidertf"));
    EXPECT_THROW(baseline_named("sgd"), InputError);
}

TEST(SimulationMethod, RunsWhatTheNameSays) {
    const auto rse = [](const char* name, const BaselineOptions& baseline = {}) {
        return run_simulation(name, patients(), with_rank(2), baseline).simulation.rse;
    };
    EXPECT_EQ(rse("ctt"), simulate(patients(), with_rank(2)).rse);
    EXPECT_EQ(rse("centralized"), reference_centralized(patients(), with_rank(2)).rse);
    EXPECT_EQ(rse("local"), reference_local(patients(), with_rank(2)).rse);
    EXPECT_NE(rse("ctt"), rse("local"));
    EXPECT_EQ(rse("fedsvd"), run_method(Method::fedsvd, patients(), with_rank(2)).simulation.rse);
    const BaselineOptions short_run{.rounds = 3};
    EXPECT_EQ(rse("trip", short_run), run_method(Method::trip, patients(), with_rank(2), short_run).simulation.rse);
    EXPECT_THROW(rse("sgd"), InputError);
}

}  // namespace
}  // namespace couplet::cli
