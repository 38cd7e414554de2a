#include "cp_run.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(CpRun, EveryMethodStopsWhenNothingIsGained) {
    for (const char* method : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        Clients clients;
        for (std::uint64_t k = 0; k < 2; ++k) clients.push_back(normal_tensor({6, 5, 4}, k));
        const auto result = run_on(std::move(clients), method, 1,
                                   {.rounds = 5000, .tolerance = 0.05, .patience = 2, .evaluate_every = 10});
        EXPECT_EQ(result.stopped, "converged") << method;
        EXPECT_LT(result.simulation.rounds, 5000) << method;
        EXPECT_EQ(result.trace.back().round, result.simulation.rounds) << method;
    }
}

TEST(CpRun, TheTraceFallsAndCountsUp) {
    const auto result = run_on(cp_clients(3, {12, 6, 5}, 2), "trip", 2, {.rounds = 23, .tolerance = 0});
    EXPECT_EQ(result.stopped, "rounds");
    std::vector<Index> rounds;
    for (const TracePoint& point : result.trace) rounds.push_back(point.round);
    EXPECT_EQ(rounds, (std::vector<Index>{0, 5, 10, 15, 20, 23}));
    for (std::size_t i = 1; i < result.trace.size(); ++i) {
        EXPECT_GT(result.trace[i].numbers, result.trace[i - 1].numbers);
        EXPECT_GT(result.trace[i].bytes, result.trace[i - 1].bytes);
        EXPECT_GE(result.trace[i].seconds, result.trace[i - 1].seconds);
    }
    EXPECT_EQ(result.trace.back().numbers, result.simulation.numbers_total);
    EXPECT_LT(result.trace.back().rse, result.trace.front().rse);
}

TEST(CpRun, RefitNeverIncreasesTheError) {
    for (const char* method : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        const BaselineOptions baseline{.rounds = 15};
        const auto refitted = run_on(cp_clients(2, {12, 6, 5}, 4), method, 2, baseline);
        auto options = with_rank(2);
        options.job.refit = false;
        const auto trained =
            run_method(parse_method(method), MemorySource(cp_clients(2, {12, 6, 5}, 4)), std::move(options), baseline);
        EXPECT_LE(refitted.simulation.rse, trained.simulation.rse + 1e-12) << method;
        EXPECT_NEAR(trained.simulation.rse, trained.trace.back().rse, 1e-10) << method;
        EXPECT_FALSE(trained.simulation.features->orthonormal) << method;
        EXPECT_TRUE(refitted.simulation.features->orthonormal) << method;
    }
}

TEST(CpRun, PersonalFactorsTimesFeaturesAreTheModelThatIsReported) {
    for (const bool refit : {true, false}) {
        const auto clients = cp_clients(2, {12, 6, 5}, 4);
        auto options = with_rank(3);
        options.job.refit = refit;
        std::vector<Matrix<double>> personal;
        options.on_personal = [&](Index, const Matrix<double>& a) {
            personal.push_back(Matrix<double>::copy(a.view()));
        };
        const auto result =
            run_method(Method::trip, MemorySource(cp_clients(2, {12, 6, 5}, 4)), std::move(options), {.rounds = 5})
                .simulation;
        const auto& train = result.features->train;
        const auto w = Matrix<double>::adopt(train.full().release(), train.left_rank(), 30);
        for (std::size_t k = 0; k < 2; ++k) {
            const auto model = product<double>(personal[k].view(), w.view());
            double error2 = 0;
            for (Index i = 0; i < model.size(); ++i) error2 += std::pow(clients[k].data()[i] - model.data()[i], 2);
            const double norm2 = squared_norm(clients[k].view().unfold(1));
            EXPECT_NEAR(result.rse_per_client[k], error2 / norm2, 1e-10);
        }
    }
}

TEST(CpRun, HeldOutPatientsOfTheSameFeaturesAreFittedToo) {
    auto options = with_rank(2);
    options.heldout = 0.25;
    const auto result = run_method(Method::trip, MemorySource(cp_clients(2, {16, 6, 5}, 2)), std::move(options),
                                   {.rounds = 300, .tolerance = 0})
                            .simulation;
    ASSERT_TRUE(result.rse_heldout.has_value());
    EXPECT_LT(*result.rse_heldout, 1e-5);
}

TEST(CpRun, LogisticHeldOutPatientsAreFittedByTheLogisticLoss) {
    auto clients = cp_clients(2, {40, 6, 6}, 2);
    for (auto& x : clients) {
        for (double& value : x.elements()) value = value > 0 ? 1 : 0;
    }
    auto options = with_rank(3);
    options.heldout = 0.25;
    const auto result = run_method(Method::fedgtf_ef_pc, MemorySource(std::move(clients)), std::move(options),
                                   {.loss = Loss::logistic, .rounds = 200, .tolerance = 0, .tuning = {.fibers = 0}});
    EXPECT_LT(*result.simulation.rse_heldout, 0.35);
}

TEST(CpRun, ScaleOfTheDataDoesNotMatter) {
    for (const char* method : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        const auto small = run_on(cp_clients(2, {12, 6, 5}, 3), method, 3, {.rounds = 20});
        auto clients = cp_clients(2, {12, 6, 5}, 3);
        for (auto& x : clients) {
            for (double& value : x.elements()) value *= 1e6;
        }
        const auto large = run_on(std::move(clients), method, 3, {.rounds = 20});
        EXPECT_NEAR(small.simulation.rse, large.simulation.rse, 1e-6) << method;
    }
}

TEST(CpRun, ZeroDataHaveNoError) {
    for (const char* method : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        Clients clients;
        for (int k = 0; k < 2; ++k) clients.push_back(Tensor<double>::zeros({4, 3, 2}));
        EXPECT_EQ(run_on(std::move(clients), method, 2, {.rounds = 3}).simulation.rse, 0) << method;
    }
}

TEST(CpRun, RankMayExceedWhatTheFeaturesCanGive) {
    const auto result = run_on(cp_clients(2, {9, 3, 2}, 2), "trip", 10, {.rounds = 30});
    EXPECT_LT(result.simulation.rse, 1e-6);
    EXPECT_LE(result.simulation.ranks.front(), 6);
}

TEST(CpRun, AnInfiniteObjectiveIsARunError) {
    EXPECT_THROW(run_on(cp_clients(2, {6, 5, 4}, 2), "dpsgd", 2,
                        {.rounds = 2000, .tolerance = 0, .tuning = {.step = 50, .fibers = 0}}),
                 RunError);
}

}  // namespace
}  // namespace couplet
