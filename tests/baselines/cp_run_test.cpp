#include "cp_run.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

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

/// What the error of a run says was found; "" when it ends well.
std::string found_by(const std::function<void()>& body) {
    try {
        body();
    } catch (const RunError& error) {
        return error.parts().found;
    }
    return "";
}

/// Trains in rounds that do nothing but what `round` does to the clients.
std::string found_in(const std::function<void(CpRun&, Index)>& round, BaselineOptions baseline) {
    const MemorySource source(cp_clients(2, {6, 5, 4}, 2));
    SimulationOptions options = with_rank(2);
    Job job;
    job.rank = 2;
    SimulationRun simulation(source, options, job);
    CpRun run(simulation, Method::dpfact, baseline, resolve_tuning(Method::dpfact, {}, 2), 2);
    return found_by([&] { run.train([&](Index at) { round(run, at); }); });
}

TEST(CpRun, AFactorThatIsNotFiniteIsFoundInItsRound) {
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        for (const std::size_t mode : {0U, 1U, 2U}) {
            const auto spoil = [&](CpRun& run, Index round) {
                if (round == 6) run.client(1).factors[mode](0, 1) = value;
            };
            EXPECT_EQ(found_in(spoil, {.rounds = 9, .tolerance = 0}),
                      "diverged at round 7: factors that are not finite");
            EXPECT_EQ(found_in(spoil, {.rounds = 6, .tolerance = 0}), "");
        }
    }
}

TEST(CpRun, AModelMayBeAThousandTimesAsLargeAsTheData) {
    const auto clients = cp_clients(2, {6, 5, 4}, 2);
    double norm2 = 0;
    double model2 = 0;
    for (const auto& x : clients) {
        norm2 += squared_norm(x.view().unfold(1));
        const auto factors = start_factors(x, 2);
        const auto model = model_tensor(factors, x.shape());
        model2 += squared_norm(model.view().unfold(1));
    }
    for (const double times : {999.9, 1000.1}) {
        const auto blow_up = [&](CpRun& run, Index round) {
            if (round != 2) return;
            for (Index k = 0; k < 2; ++k) {
                Matrix<double>& a = run.client(k).factors[1];
                for (Index i = 0; i < a.size(); ++i) a.data()[i] *= times * std::sqrt(norm2 / model2);
            }
        };
        EXPECT_EQ(found_in(blow_up, {.rounds = 3, .tolerance = 0}),
                  times < 1000 ? "" : "diverged at round 3: a model 1e+03 times as large as the data");
    }
}

TEST(CpRun, EveryMethodThatTakesStepsSaysThatItDiverged) {
    for (const char* method : {"fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        for (const double step : {50.0, 1e300, 1e308}) {
            Tuning tuning{.step = step, .decay = 0, .fibers = 0};
            if (method == std::string_view("dpfact")) tuning.prox = 0;
            const std::string found = found_by([&] {
                run_on(cp_clients(2, {6, 5, 4}, 2), method, 2, {.rounds = 2000, .tolerance = 0, .tuning = tuning});
            });
            EXPECT_TRUE(found.starts_with("diverged at round ")) << method << ": " << found;
        }
    }
}

TEST(CpRun, DivergenceNamesTheMethodAndWhatHelps) {
    try {
        run_on(cp_clients(2, {6, 5, 4}, 2), "dpsgd", 2, {.rounds = 2000, .tuning = {.step = 50, .fibers = 0}});
        FAIL();
    } catch (const RunError& error) {
        EXPECT_EQ(error.parts().where, "dpsgd");
        EXPECT_EQ(error.parts().expected, "steps that converge");
        EXPECT_NE(error.parts().remedy.find("`step`"), std::string::npos) << error.parts().remedy;
    }
}

TEST(CpRun, NumbersBeyondItsRangeAreRefused) {
    const auto with = [](double scale) -> std::string {
        Clients clients;
        for (int k = 0; k < 2; ++k) {
            auto x = Tensor<double>::zeros({4, 3, 2});
            x.data()[k] = scale;  // norms of `scale` each
            clients.push_back(std::move(x));
        }
        try {
            const double rse = run_on(std::move(clients), "trip", 2, {.rounds = 3}).simulation.rse;
            return rse >= 0 && rse <= 1 ? "" : "an RSE of " + std::to_string(rse);
        } catch (const InputError& error) {
            return error.parts().where + ": " + error.parts().found;
        }
    };
    for (const double scale : {1e-69, 1.0, 7e69}) EXPECT_EQ(with(scale), "") << scale;
    EXPECT_EQ(with(1e-71), "data: tensors with a norm of 1.41e-71 in all");
    EXPECT_EQ(with(1e71), "data: tensors with a norm of 1.41e+71 in all");
    // Squares that no job can add up: the client is named.
    EXPECT_EQ(with(1e150), "client 1: a norm of about 1e150");
    EXPECT_EQ(with(1e-170), "client 1: a norm of about 1e-170");
}

struct Idle {
    Index rounds = 0;
    std::string stopped;
    std::vector<Index> evaluated;
    double numbers = 0;
    double bytes = 0;
};

/// Rounds that do nothing: the objective never falls.
Idle idle(Method method, const BaselineOptions& baseline) {
    const MemorySource source(uneven_clients(3));
    SimulationOptions options = with_rank(2);
    Job job;
    job.rank = 2;
    job.network = network_of(method);
    SimulationRun simulation(source, options, job);
    CpRun run(simulation, method, baseline, resolve_tuning(method, {}, 2), 2);
    run.train([](Index) {});
    const auto result = run.finish();
    Idle idle{result.simulation.rounds,
              result.stopped,
              {},
              result.simulation.numbers_total,
              result.simulation.bytes_up + result.simulation.bytes_down};
    for (const TracePoint& point : result.trace) idle.evaluated.push_back(point.round);
    return idle;
}

TEST(CpRun, StopsAfterAsManyEvaluationsInVainAsItHasPatience) {
    const Idle three = idle(Method::trip, {.rounds = 100, .patience = 3, .evaluate_every = 2});
    EXPECT_EQ(three.rounds, 6);
    EXPECT_EQ(three.stopped, "converged");
    EXPECT_EQ(three.evaluated, (std::vector<Index>{0, 2, 4, 6}));
    const Idle one = idle(Method::trip, {.rounds = 100, .patience = 1, .evaluate_every = 1});
    EXPECT_EQ(one.rounds, 1);
    // In the last round there is nothing left to stop.
    const Idle last = idle(Method::trip, {.rounds = 6, .patience = 3, .evaluate_every = 2});
    EXPECT_EQ(last.rounds, 6);
    EXPECT_EQ(last.stopped, "rounds");
    const Idle never = idle(Method::trip, {.rounds = 7, .tolerance = 0, .patience = 1, .evaluate_every = 3});
    EXPECT_EQ(never.rounds, 7);
    EXPECT_EQ(never.evaluated, (std::vector<Index>{0, 3, 6, 7}));
}

TEST(CpRun, AnEvaluationIsANumberUpAndDown) {
    // After rounds 2 and 4: three clients in a star, one up and one down each; the start is free.
    const Idle star = idle(Method::trip, {.rounds = 4, .patience = 9, .evaluate_every = 2});
    EXPECT_EQ(star.numbers, 2 * (3 + 3));
    EXPECT_EQ(star.bytes, 2 * (3 + 3) * serialised_bytes(1));
    // Peers send it up and down a tree of two links.
    const Idle peers = idle(Method::dpsgd, {.rounds = 4, .patience = 9, .evaluate_every = 2});
    EXPECT_EQ(peers.numbers, 2 * 4);
    // Without a tolerance nobody needs it.
    EXPECT_EQ(idle(Method::trip, {.rounds = 4, .tolerance = 0, .evaluate_every = 2}).numbers, 0);
}

TEST(CpRun, ProgressBeyondTheToleranceStartsThePatienceAgain) {
    // The model is scaled by s: the start is the best in its direction, and 1 - (1 - s)^2 of it is explained.
    const auto rounds = [](const std::vector<double>& scales) {
        const MemorySource source(uneven_clients(2));
        SimulationOptions options = with_rank(2);
        Job job;
        job.rank = 2;
        SimulationRun simulation(source, options, job);
        CpRun run(simulation, Method::trip, {.rounds = 8, .tolerance = 0.1, .patience = 2, .evaluate_every = 1},
                  {.rho = 1}, 2);
        std::vector<Matrix<double>> best;
        for (Index k = 0; k < 2; ++k) best.push_back(Matrix<double>::copy(run.client(k).factors[0].view()));
        const auto set = [&](double scale) {
            for (std::size_t k = 0; k < 2; ++k) {
                Matrix<double>& a = run.client(static_cast<Index>(k)).factors[0];
                for (Index i = 0; i < a.size(); ++i) a.data()[i] = scale * best[k].data()[i];
            }
        };
        set(scales.front());
        run.train([&](Index round) { set(scales[std::min(scales.size() - 1, static_cast<std::size_t>(round) + 1)]); });
        return run.finish().simulation.rounds;
    };
    EXPECT_EQ(rounds({20, 20, 20}), 2);                     // nothing gained
    EXPECT_EQ(rounds({20, 20, 10, 10, 10}), 4);             // half of it in the second round, then nothing
    EXPECT_EQ(rounds({20, 20, 19.5, 19.4, 19.4}), 2);       // less than a tenth
    EXPECT_EQ(rounds({20, 10, 20, 10, 10}), 3);             // back to the best is no progress
    EXPECT_EQ(rounds({20, 16, 13, 10, 8, 6, 4, 3, 2}), 8);  // always some
}

TEST(CpRun, EverybodyDrawsNumbersOfTheirOwn) {
    const MemorySource source(copies(normal_tensor({4, 3, 2}, 1), 3));
    SimulationOptions options = with_rank(2);
    options.job.seed = 5;
    Job job;
    job.rank = 2;
    job.seed = 5;
    SimulationRun simulation(source, options, job);
    CpRun run(simulation, Method::dpfact, {}, resolve_tuning(Method::dpfact, {}, 2), 2);
    for (Index k = 0; k < 3; ++k) {
        Random expected(5, client_stream + static_cast<std::uint64_t>(k));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(run.client(k).random.normal(), expected.normal()) << k;
    }
}

/// Clients with the same data and few fibers part ways when each samples for itself.
TEST(CpRun, ClientsSampleFibersOfTheirOwn) {
    for (const char* method : {"fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        const auto trained = train(copies(normal_tensor({6, 5, 4}, 1), 3), method, 2,
                                   {.rounds = 6, .tolerance = 0, .tuning = {.fibers = 4}});
        EXPECT_GT(distance(trained.personal[0], trained.personal[1]), 1e-6) << method;
        EXPECT_GT(distance(trained.personal[1], trained.personal[2]), 1e-6) << method;
    }
}

TEST(CpRun, StepsDecay) {
    const MemorySource source(uneven_clients(2));
    SimulationOptions options = with_rank(2);
    Job job;
    job.rank = 2;
    SimulationRun simulation(source, options, job);
    const CpRun run(simulation, Method::dpsgd, {}, {.step = 0.8, .decay = 0.5, .fibers = 0, .tau = 1}, 2);
    EXPECT_DOUBLE_EQ(run.step(0), 0.8);
    EXPECT_DOUBLE_EQ(run.step(1), 0.8 / 1.5);
    EXPECT_DOUBLE_EQ(run.step(4), 0.8 / 3);
    EXPECT_EQ(run.shared_numbers(), 2 * (3 + 2));
    EXPECT_EQ(run.order(), 3);
}

TEST(CpRun, PeersThatDifferTakeTheirMean) {
    const MemorySource source(uneven_clients(3));
    for (const double apart : {0.0, 1e-13, 2e-11, 1e-6}) {
        SimulationOptions options = with_rank(2);
        Job job;
        job.rank = 2;
        job.network = Network::decentralized;
        SimulationRun simulation(source, options, job);
        CpRun run(simulation, Method::dpsgd, {.rounds = 1, .tolerance = 0}, resolve_tuning(Method::dpsgd, {}, 2), 2);
        const double before = run.client(1).factors[2](1, 0);
        run.train([&](Index) { run.client(1).factors[2](1, 0) += apart; });
        const auto result = run.finish();
        // The mean goes up and down a tree of two links; rounding is no difference.
        EXPECT_EQ(result.simulation.numbers_total, apart > 1e-12 ? 4 * 2 * (3 + 2) : 0) << apart;
        EXPECT_EQ(result.trace.size(), apart > 1e-12 ? 3U : 2U) << apart;
        if (apart > 1e-12) {
            for (Index k = 0; k < 3; ++k) EXPECT_NEAR(run.client(k).factors[2](1, 0), before + apart / 3, 1e-15);
        }
    }
}

TEST(CpRun, TellsHowFarItIs) {
    std::vector<std::pair<std::int64_t, std::int64_t>> told;
    SimulationOptions options = with_rank(2);
    options.progress = [&](const ProgressEvent& progress) {
        if (progress.phase == "rounds") told.emplace_back(progress.done, progress.total);
    };
    run_method(Method::trip, MemorySource(uneven_clients(2)), std::move(options), {.rounds = 3, .tolerance = 0});
    EXPECT_EQ(told, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
}

TEST(CpRun, TheResultSaysWhatJobItWas) {
    SimulationOptions options = with_rank(2);
    options.job.seed = 9;
    options.job.graph = "ring";
    options.job.weights = "metropolis";
    const Job job =
        run_method(Method::dpsgd, MemorySource(uneven_clients(3)), std::move(options), {.rounds = 1}).simulation.job;
    EXPECT_EQ(job.rank, 2);
    EXPECT_EQ(job.seed, 9U);
    EXPECT_EQ(job.graph, "ring");
    EXPECT_EQ(job.consensus.weights, "metropolis");
    EXPECT_EQ(job.network, Network::decentralized);
    EXPECT_TRUE(job.refit);
}

}  // namespace
}  // namespace couplet
