#include "couplet/experiments/method_bench.hpp"

#include <set>

#include "couplet/baselines/tune.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

using testing::LabTest;

class MethodBenchTest : public LabTest {};

TEST_F(MethodBenchTest, DpfactIsForOrderThree) {
    const auto three = MethodBench::methods(3);
    const auto four = MethodBench::methods(4);
    EXPECT_EQ(three.size(), 7U);
    EXPECT_EQ(four.size(), 6U);
    for (const Method method : three) EXPECT_TRUE(MethodBench::has(to_string(method)));
    for (const char* not_other : {"ctt-star", "ctt-dec", "printed-star", "printed-refit", "centralized", "local"}) {
        EXPECT_FALSE(MethodBench::has(not_other)) << not_other;
        EXPECT_FALSE(MethodBench::trains(not_other)) << not_other;
    }
}

TEST_F(MethodBenchTest, FedSvdDoesNotTrain) {
    EXPECT_TRUE(MethodBench::has("fedsvd"));
    EXPECT_FALSE(MethodBench::trains("fedsvd"));
    EXPECT_TRUE(MethodBench::trains("cidertf"));
}

TEST_F(MethodBenchTest, TheLeastOfTheOthersIsFound) {
    const auto row = [](const char* method, double value) {
        return Row{.figure = "rse", .method = method, .category = "A", .y = {value, 0, 1}};
    };
    const ExperimentResult result{.rows = {row("ctt-star", 0.1), row("trip", 0.3), row("fedsvd", 0.2)}};
    ASSERT_NE(least_other(result, "rse", "A"), nullptr);
    EXPECT_EQ(least_other(result, "rse", "A")->method, "fedsvd");
    EXPECT_EQ(least_other(result, "rse", "B"), nullptr);
}

TEST_F(MethodBenchTest, RunsAreRemembered) {
    DataLibrary library({}, Effort::tiny);
    MethodBench bench({}, Effort::tiny);
    const auto data = library.open(DataId::synthetic3, 1);
    const MethodRun& one = bench.run(Method::trip, *data, 1, 2, 1, library);
    EXPECT_EQ(&bench.run(Method::trip, *data, 1, 2, 1, library), &one);
    EXPECT_NE(&bench.run(Method::trip, *data, 1, 3, 1, library), &one);
    EXPECT_LT(one.rse, 1);
    EXPECT_GT(one.bytes, 0);
    EXPECT_LE(one.rounds, 5 + 1);
    EXPECT_LE(one.settled, one.rounds);
    EXPECT_FALSE(one.trace.empty());
    EXPECT_GT(bench.run(Method::trip, *data, 1, 2, 1, library, 0.2).rse_heldout, 0);
    EXPECT_LT(bench.run_plain(Method::dpsgd, data->split(2), 4, 1).rse, 1);
    EXPECT_LT(bench.run(Method::fedsvd, *data, 1, 2, 1, library).rse, 1);
}

TEST_F(MethodBenchTest, AnotherRankIsAnotherRunWithItsOwnTuning) {
    DataLibrary library({}, Effort::quick);
    const auto data = library.open(DataId::synthetic3, 1);
    const auto cache = folder_ / "tuning.json";
    const TuningKey key{Method::dpsgd, 7, Loss::square, fingerprint(data->split(4))};
    save_tuning(cache, key, resolve_tuning(Method::dpsgd, {.step = 0.25}, 7), 0.5, 3);
    MethodBench bench(cache, Effort::quick);
    const MethodRun& other = bench.run_at(7, Method::dpsgd, *data, 1, 4, 1, library);
    EXPECT_NE(&bench.run(Method::dpsgd, *data, 1, 4, 1, library), &other);
    EXPECT_EQ(&bench.run_at(data->rank, Method::dpsgd, *data, 1, 4, 1, library),
              &bench.run(Method::dpsgd, *data, 1, 4, 1, library));
    EXPECT_EQ(&bench.run_at(7, Method::dpsgd, *data, 1, 4, 1, library), &other);
    const auto used = bench.take_tunings();
    ASSERT_EQ(used.size(), 2U);
    EXPECT_EQ(used[0].rank, 7);
    EXPECT_EQ(used[0].parameters.substr(0, 9), "step=0.25");
    EXPECT_EQ(used[1].rank, data->rank);
    EXPECT_EQ(used[1].parameters, "");
}

TEST_F(MethodBenchTest, AQuickRunTakesWhatWasTuned) {
    DataLibrary library({}, Effort::quick);
    const auto data = library.open(DataId::synthetic3, 1);
    MethodBench plain({}, Effort::quick);
    const double before = plain.run(Method::dpsgd, *data, 1, 4, 1, library).rse;
    const auto cache = folder_ / "tuning.json";
    const TuningKey key{Method::dpsgd, data->rank, Loss::square, fingerprint(data->split(4))};
    save_tuning(cache, key, resolve_tuning(Method::dpsgd, {.step = 0.01}, data->rank), 0.5, 3);
    MethodBench tuned(cache, Effort::quick);
    EXPECT_NE(tuned.run(Method::dpsgd, *data, 1, 4, 1, library).rse, before);
    tuned.run(Method::dpsgd, *data, 1, 4, 1, library);
    const auto used = tuned.take_tunings();
    ASSERT_EQ(used.size(), 1U);
    EXPECT_EQ(used[0].method, "dpsgd");
    EXPECT_EQ(used[0].data, "Synthetic, order 3");
    EXPECT_EQ(used[0].found_for, key.data);
    EXPECT_EQ(used[0].rank, data->rank);
    EXPECT_EQ(used[0].parameters.substr(0, 9), "step=0.01");
    EXPECT_TRUE(tuned.take_tunings().empty());
    tuned.run(Method::dpsgd, *data, 1, 4, 1, library);
    EXPECT_EQ(tuned.take_tunings(), used);
    EXPECT_FALSE(tuned.outdated(used[0]));
    MethodTuning other = used[0];
    other.parameters = "";
    EXPECT_TRUE(tuned.outdated(other));
    EXPECT_FALSE(plain.outdated(other));
    other.found_for = "other data";
    EXPECT_FALSE(tuned.outdated(other));
}

TEST_F(MethodBenchTest, ARunIsThatOfTheMethodWithTheRoundsOfItsEffort) {
    DataLibrary library({}, Effort::tiny);
    MethodBench bench({}, Effort::tiny);
    const auto data = library.open(DataId::synthetic3, 1);
    const MethodRun& one = bench.run(Method::dpsgd, *data, 7, 3, 1, library, 0.25);
    SimulationOptions how;
    how.job.rank = data->rank;
    how.job.seed = 7;
    how.heldout = 0.25;
    const auto expected = run_method(Method::dpsgd, data->split(3), std::move(how), {.rounds = 5});
    EXPECT_EQ(one.rse, expected.simulation.rse);
    EXPECT_EQ(one.rse_heldout, *expected.simulation.rse_heldout);
    EXPECT_EQ(one.rounds, static_cast<double>(expected.simulation.rounds));
    EXPECT_EQ(one.bytes, expected.simulation.bytes_up + expected.simulation.bytes_down);
    EXPECT_EQ(one.trace.size(), expected.trace.size());
    // The first point within 5% of the last.
    double settled = -1;
    for (const TracePoint& point : expected.trace) {
        if (settled < 0 && point.rse <= 1.05 * expected.trace.back().rse) settled = static_cast<double>(point.round);
    }
    EXPECT_EQ(one.settled, settled);
    const auto plain = bench.run_plain(Method::trip, data->split(2), 3, 5);
    SimulationOptions same;
    same.job.rank = 3;
    same.job.seed = 5;
    EXPECT_EQ(plain.rse, run_method(Method::trip, data->split(2), std::move(same), {.rounds = 5}).simulation.rse);
    EXPECT_EQ(plain.rse_heldout, 0);
    EXPECT_EQ(plain.rounds, 5);
}

TEST_F(MethodBenchTest, EveryDifferenceOfARunIsARunOfItsOwn) {
    DataLibrary library({}, Effort::tiny);
    MethodBench bench({}, Effort::tiny);
    const auto data = library.open(DataId::synthetic3, 1);
    const auto other = library.open(DataId::synthetic4, 1);
    std::set<const MethodRun*> runs{
        &bench.run(Method::trip, *data, 1, 2, 1, library),  &bench.run(Method::trip, *data, 2, 2, 1, library),
        &bench.run(Method::trip, *data, 1, 3, 1, library),  &bench.run(Method::trip, *data, 1, 2, 1, library, 0.2),
        &bench.run(Method::trip, *other, 1, 2, 1, library), &bench.run(Method::fedsvd, *data, 1, 2, 1, library)};
    EXPECT_EQ(runs.size(), 6U);
}

}  // namespace
}  // namespace couplet
