#include "couplet/sim/simulate.hpp"

#include <functional>

#include "couplet/core/error.hpp"
#include "couplet/sim/reference.hpp"
#include "datasets.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

std::vector<JobOptions> jobs() {
    std::vector<JobOptions> result = {
        {.eps = 0.1},
        {.rank = 3},
        {.aggregate = Aggregate::average, .rank = 3},
        {.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random},
    };
    for (const auto aggregate : {Aggregate::average, Aggregate::subspace, Aggregate::stack}) {
        JobOptions peer{.network = Network::decentralized, .aggregate = aggregate, .rank = 3};
        if (aggregate == Aggregate::average) peer.iterations = 4;
        result.push_back(peer);
    }
    return result;
}

/// Every phase counts from 0 to its total, and each ends there.
TEST(SimulateTest, ProgressIsCountedToItsEnd) {
    const auto check = [](const std::function<void(SimulationOptions)>& run, SimulationOptions options) {
        std::vector<std::string> phases;
        Index done = 0;
        Index total = 0;
        options.progress = [&](const ProgressEvent& event) {
            if (phases.empty() || phases.back() != event.phase || event.done < done) {
                EXPECT_EQ(done, total) << "the phase before " << event.phase;
                EXPECT_EQ(event.done, 0) << event.phase;
                phases.emplace_back(event.phase);
                total = event.total;
            }
            EXPECT_EQ(event.total, total) << event.phase;
            EXPECT_LE(event.done, total) << event.phase;
            done = event.done;
        };
        run(std::move(options));
        EXPECT_FALSE(phases.empty());
        EXPECT_EQ(done, total) << phases.back();
        EXPECT_GT(total, 0);
    };
    const auto source = [] { return MemorySource(population(7, {9, 5, 6}, 4, 0.7, 0.1, 2)); };
    for (const auto& job : jobs()) {
        check([&](SimulationOptions options) { simulate(source(), std::move(options)); }, {.job = job});
    }
    check([&](SimulationOptions options) { reference_centralized(source(), std::move(options)); },
          {.job = {.rank = 3}});
    check([&](SimulationOptions options) { reference_local(source(), std::move(options)); }, {.job = {.rank = 3}});
}

TEST(SimulateTest, ResultsDoNotDependOnThreads) {
    const ThreadCountGuard guard;
    for (const auto& job : jobs()) {
        std::optional<SimulationResult> expected;
        for (const int threads : {1, 2, 3}) {
            set_thread_count(threads);
            std::vector<double> personal;
            SimulationOptions options{.job = job};
            options.on_personal = [&](Index, const Matrix<double>& core) {
                personal.insert(personal.end(), core.data(), core.data() + core.size());
            };
            auto result = simulate(MemorySource(population(7, {9, 5, 6}, 4, 0.7, 0.1, 2)), std::move(options));
            EXPECT_EQ(result.rse_per_client.size(), 7u);
            EXPECT_FALSE(personal.empty());
            if (!expected) {
                expected = std::move(result);
                continue;
            }
            EXPECT_TRUE(same_bits(*result.features, *expected->features));
            EXPECT_EQ(result.rse, expected->rse);
            EXPECT_EQ(result.rse_per_client, expected->rse_per_client);
            EXPECT_EQ(result.rel_error_bound, expected->rel_error_bound);
            EXPECT_EQ(result.numbers_total, expected->numbers_total);
            EXPECT_EQ(result.bytes_up, expected->bytes_up);
            EXPECT_EQ(result.rounds, expected->rounds);
        }
    }
}

TEST(SimulateTest, LazyClientsGiveTheSameBits) {
    for (const auto& job : jobs()) {
        const auto memory = simulate(MemorySource(population(7, {9, 5, 6}, 4, 0.7, 0.1, 2)), {.job = job});
        const LazySource lazy(7, [](Index k) {
            return population_client({9, 5, 6}, 4, 0.7, 0.1, 2, static_cast<std::uint64_t>(k));
        });
        const auto result = simulate(lazy, {.job = job});
        EXPECT_TRUE(same_bits(*result.features, *memory.features));
        EXPECT_EQ(result.rse, memory.rse);
    }
}

TEST(SimulateTest, ZeroClientsWork) {
    for (const auto& job : jobs()) {
        auto some = population(4, {6, 4, 5}, 3, 0.7, 0.1, 2);
        some[1] = Tensor<double>::zeros({6, 4, 5});
        const auto mixed = simulate(MemorySource(std::move(some)), {.job = job});
        EXPECT_TRUE(std::isfinite(mixed.rse));
        EXPECT_LT(mixed.rse, 1);
        EXPECT_EQ(mixed.rse_per_client[1], 0);
        std::vector<Tensor<double>> zeros;
        for (int k = 0; k < 4; ++k) zeros.push_back(Tensor<double>::zeros({6, 4, 5}));
        const auto nothing = simulate(MemorySource(std::move(zeros)), {.job = job});
        EXPECT_EQ(nothing.rse, 0);
        if (nothing.rel_error_bound) {
            EXPECT_EQ(*nothing.rel_error_bound, 0);
        }
    }
}

TEST(SimulateTest, OrdersTwoAndFive) {
    for (const Shape& shape : {Shape{9, 30}, Shape{9, 3, 4, 2, 3}}) {
        const auto clients = population(4, shape, 4, 0.7, 0.01, 2);
        const double centralized = centralized_rse(gather_rows(clients), 3, 0.01);
        for (const auto& job : jobs()) {
            auto copy = population(4, shape, 4, 0.7, 0.01, 2);
            const auto result = simulate(MemorySource(std::move(copy)), {.job = job});
            EXPECT_EQ(static_cast<Index>(result.ranks.size()), shape.order());
            EXPECT_EQ(result.ranks.back(), 1);
            if (result.rel_error_bound) {
                EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound + 1e-12);
            }
            if (job.rank && job.aggregate != Aggregate::average) {
                EXPECT_LE(result.rse, 1.02 * centralized + 1e-4);
            }
        }
    }
}

TEST(SimulateTest, ScaledClientsCountAlike) {
    const auto make = [](double scale) {
        auto clients = population(4, {8, 4, 5}, 6, 0.9, 0.1, 2);
        for (double& x : clients[2].elements()) x *= scale;
        return MemorySource(std::move(clients));
    };
    std::vector<double> squares;
    const auto run = [&](double scale) {
        SimulationOptions options{.job = {.rank = 3}, .scale_clients = true};
        options.on_personal = [&](Index, const Matrix<double>& core) {
            squares.push_back(squared_norm<double>(core.view()));
        };
        return simulate(make(scale), std::move(options));
    };
    const auto plain = run(1);
    const auto scaled = run(1e6);
    EXPECT_NEAR(plain.rse, scaled.rse, 1e-10);
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(plain.rse_per_client[k], scaled.rse_per_client[k], 1e-9);
        // Personal cores come back in the client's own units.
        EXPECT_NEAR(squares[4 + k] / squares[k], k == 2 ? 1e12 : 1, k == 2 ? 1e3 : 1e-8);
    }
    // Without, the large client is all there is.
    const auto unscaled = simulate(make(1e6), {.job = {.rank = 3}});
    EXPECT_GT(unscaled.rse_per_client[0], scaled.rse_per_client[0]);
    // The certified bound is one of the errors reported.
    for (const double scale : {1.0, 1e3}) {
        const auto certified = simulate(make(scale), {.job = {.eps = 0.2}, .scale_clients = true});
        EXPECT_LE(std::sqrt(certified.rse), *certified.rel_error_bound + 1e-12);
        EXPECT_LE(*certified.rel_error_bound, 0.2 * (1 + 1e-9));
    }
}

TEST(SimulateTest, HeldOutPatientsAreProjected) {
    // One population without noise: new patients lie in its features.
    const auto exact =
        simulate(MemorySource(population(4, {20, 5, 6}, 4, 0.7, 0, 2)), {.job = {.rank = 4}, .heldout = 0.25});
    ASSERT_TRUE(exact.rse_heldout);
    EXPECT_LT(*exact.rse_heldout, 1e-3);
    const auto noisy =
        simulate(MemorySource(population(4, {20, 5, 6}, 4, 0.7, 0.5, 2)), {.job = {.rank = 4}, .heldout = 0.25});
    EXPECT_GT(*noisy.rse_heldout, noisy.rse);
    EXPECT_LT(*noisy.rse_heldout, 1);
    EXPECT_FALSE(simulate(MemorySource(population(2, {5, 4}, 2)), {.job = {.rank = 2}}).rse_heldout);
    const auto peers = simulate(MemorySource(population(4, {20, 5, 6}, 4, 0.7, 0, 2)),
                                {.job = {.network = Network::decentralized, .rank = 4}, .heldout = 0.25});
    EXPECT_LT(*peers.rse_heldout, 1e-3);
    // Held-out patients of a client that is scaled count in its scale.
    auto clients = population(4, {20, 5, 6}, 6, 0.9, 0.1, 2);
    for (double& x : clients[0].elements()) x *= 1e4;
    const auto scaled =
        simulate(MemorySource(std::move(clients)), {.job = {.rank = 3}, .scale_clients = true, .heldout = 0.25});
    const auto plain = simulate(MemorySource(population(4, {20, 5, 6}, 6, 0.9, 0.1, 2)),
                                {.job = {.rank = 3}, .scale_clients = true, .heldout = 0.25});
    EXPECT_NEAR(*scaled.rse_heldout, *plain.rse_heldout, 1e-9);
}

TEST(SimulateTest, TenThousandLazyClients) {
    const LazySource source(10000, [](Index k) {
        return population_client({2, 3, 3}, 3, 0.7, 0.05, 2, static_cast<std::uint64_t>(k));
    });
    const auto result = simulate(source, {.job = {.eps = 0.1}});
    EXPECT_EQ(result.rse_per_client.size(), 10000u);
    EXPECT_EQ(result.personal_ranks.size(), 10000u);
    EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound + 1e-12);
    EXPECT_LE(*result.rel_error_bound, 0.1 * (1 + 1e-9));
    EXPECT_EQ(result.rounds, 2);
}

TEST(SimulateTest, DryRunComputesNoFit) {
    const auto wet = simulate(MemorySource(population(3, {6, 4, 5}, 3)), {.job = {.rank = 3}});
    const auto dry = simulate(MemorySource(population(3, {6, 4, 5}, 3)), {.job = {.rank = 3}, .dry_run = true});
    EXPECT_TRUE(dry.rse_per_client.empty());
    EXPECT_EQ(dry.numbers_up_per_client, wet.numbers_up_per_client);
    EXPECT_EQ(dry.personal_ranks, wet.personal_ranks);
}

TEST(SimulateTest, RefusesWhatItCannotDo) {
    const auto refusal = [](std::vector<Tensor<double>> clients, SimulationOptions options) {
        return message_of([&] { simulate(MemorySource(std::move(clients)), std::move(options)); });
    };
    EXPECT_NE(refusal({}, {}).find("at least one client"), std::string::npos);
    EXPECT_NE(refusal(population(2, {5, 4}, 2), {.heldout = 1.0}).find("`heldout`"), std::string::npos);
    EXPECT_NE(refusal(population(2, {5, 4}, 2), {.heldout = -0.1}).find("`heldout`"), std::string::npos);
    EXPECT_NE(refusal(population(2, {5, 4}, 2), {.job = {.aggregate = Aggregate::average, .rank = 2}, .heldout = 0.5})
                  .find("`refit`"),
              std::string::npos);
    EXPECT_NE(
        refusal(population(2, {5, 4}, 2), {.job = {.aggregate = Aggregate::average, .rank = 2}, .save_state = true})
            .find("`save_state`"),
        std::string::npos);
    auto hurt = population(3, {5, 4}, 2);
    hurt[1].data()[7] = std::nan("");
    EXPECT_NE(refusal(std::move(hurt), {}).find("client 2"), std::string::npos);
    auto other = population(3, {5, 4, 3}, 2);
    other[2] = random_tensor<double>({5, 4, 2});
    const auto shapes = refusal(std::move(other), {});
    EXPECT_NE(shapes.find("client 3"), std::string::npos);
    EXPECT_NE(shapes.find("mode 3"), std::string::npos);
    EXPECT_NE(
        refusal(population(3, {5, 4}, 2), {.job = {.aggregate = Aggregate::average, .rank = 5}}).find("client 1 4"),
        std::string::npos);
    EXPECT_NE(refusal(population(2, {5, 4}, 2), {.job = {.network = Network::decentralized,
                                                         .aggregate = Aggregate::average,
                                                         .rank = 2,
                                                         .weights = "magic",
                                                         .iterations = 3}})
                  .find("2"),
              std::string::npos);
}

Clients times(Clients clients, const std::vector<double>& factors) {
    for (std::size_t k = 0; k < clients.size(); ++k) {
        for (double& e : clients[k].elements()) e *= factors[k % factors.size()];
    }
    return clients;
}

/// Every network and aggregate, over magnitudes whose squares are no numbers: the answer of the same data at 1, or a
/// refusal that names the client.
TEST(SimulateTest, MagnitudesGiveTheRightAnswerOrARefusal) {
    const auto base = population(3, {9, 5, 6}, 4, 0.7, 0.1, 2);
    for (const auto& job : jobs()) {
        const auto expected =
            simulate(MemorySource(times(population(3, {9, 5, 6}, 4, 0.7, 0.1, 2), {1})),
                     {.job = job,
                      .scale_clients = true,
                      .heldout = job.refit.value_or(true) && job.aggregate != Aggregate::average ? 0.3 : 0});
        for (const double factor : {1e-300, 1e-170, 1e-74, 1e74, 1e160, 1e300}) {
            auto clients = times(population(3, {9, 5, 6}, 4, 0.7, 0.1, 2), {factor});
            const bool safe = factor > 1e-75 && factor < 1e74;
            const bool heldout = job.aggregate != Aggregate::average;
            std::vector<double> norms;
            SimulationOptions options{.job = job, .scale_clients = true, .heldout = heldout ? 0.3 : 0};
            options.on_personal = [&](Index, const Matrix<double>& core) {
                norms.push_back(max_magnitude<double>(core.view()));
            };
            const auto result =
                simulate(MemorySource(times(population(3, {9, 5, 6}, 4, 0.7, 0.1, 2), {factor})), std::move(options));
            EXPECT_NEAR(result.rse, expected.rse, 1e-9) << factor;
            if (heldout) {
                EXPECT_NEAR(*result.rse_heldout, *expected.rse_heldout, 1e-9) << factor;
            }
            for (std::size_t k = 0; k < 3; ++k) {
                EXPECT_NEAR(result.rse_per_client[k], expected.rse_per_client[k], 1e-9) << factor;
                if (heldout) {
                    EXPECT_GT(norms[k] / factor, 1e-3) << factor;
                    EXPECT_LT(norms[k] / factor, 1e4) << factor;
                }
            }
            if (expected.rel_error_bound) {
                EXPECT_NEAR(*result.rel_error_bound, *expected.rel_error_bound, 1e-9) << factor;
            }
            const auto message = message_of([&] { simulate(MemorySource(std::move(clients)), {.job = job}); });
            if (safe) {
                EXPECT_EQ(message, "") << factor;
            } else {
                EXPECT_TRUE(message.starts_with("client 1: a norm of about 1e")) << message;
                EXPECT_TRUE(message.ends_with("use `scale_clients` norm.")) << message;
            }
        }
    }
}

TEST(SimulateTest, OneClientOfAnotherMagnitude) {
    const auto federation = [](double factor) {
        return times(population(3, {9, 5, 6}, 4, 0.7, 0.1, 2), {1, factor, 1});
    };
    for (const auto& job : jobs()) {
        // Negligible in the sum, and its own error is still its own.
        const auto result = simulate(MemorySource(federation(1e-70)), {.job = job});
        EXPECT_GT(result.rse_per_client[1], 1e-6);
        EXPECT_LE(result.rse_per_client[1], job.aggregate == Aggregate::average ? 1e200 : 1);
        const auto without = simulate(MemorySource(federation(1e-30)), {.job = job});
        if (job.aggregate != Aggregate::average) {
            EXPECT_NEAR(result.rse_per_client[1], without.rse_per_client[1], 1e-6);
        }
        const auto message = message_of([&] { simulate(MemorySource(federation(1e-170)), {.job = job}); });
        EXPECT_TRUE(message.starts_with("client 2: a norm of about 1e-16")) << message;
        auto zero = federation(0);
        const auto beside = simulate(MemorySource(std::move(zero)), {.job = job});
        EXPECT_EQ(beside.rse_per_client[1], 0);
        EXPECT_TRUE(std::isfinite(beside.rse));
    }
    // One patient alone, at the edge.
    for (const double factor : {1.1e-75, 1e73}) {
        Clients one;
        one.push_back(random_tensor<double>({1, 4, 5}, 3, factor));
        const auto result = simulate(MemorySource(std::move(one)), {.job = {.eps = 0.1}});
        EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound);
        EXPECT_LE(*result.rel_error_bound, 0.1);
    }
}

TEST(SimulateBudgetTest, BytesChooseRankAndPrecision) {
    const auto run = [](JobOptions job) {
        return simulate(MemorySource(synthetic_clients("120x14x15", 3, 4)), {.job = std::move(job)});
    };
    for (const auto network : {Network::star, Network::decentralized}) {
        double before = 2;
        for (const Index bytes : {3000, 8000, 30'000}) {
            const auto result = run({.network = network, .bytes = bytes, .graph = "ring"});
            // Of a client in a star; in a ring a peer has two links at most.
            const double sent = result.bytes_up + result.bytes_down;
            EXPECT_LE(sent, 4.0 * static_cast<double>(bytes));
            EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound);
            EXPECT_LT(result.rse, before);
            before = result.rse;
            const auto total = run({.network = network, .bytes_total = 4 * bytes, .graph = "ring"});
            EXPECT_LE(total.bytes_up + total.bytes_down, 4.0 * static_cast<double>(bytes));
            // Enough is used that the budget, not a rule, decides.
            EXPECT_GE(total.bytes_up + total.bytes_down, 0.5 * 4.0 * static_cast<double>(bytes));
        }
    }
    const auto capped = run({.rank = 3, .bytes = 8000});
    EXPECT_LE(capped.ranks.front(), 3);
    EXPECT_NE(message_of([&] { run({.bytes = 300}); }).find("`bytes`"), std::string::npos);
}

TEST(SimulateBudgetTest, ADryRunSaysWhatIsSent) {
    SimulationOptions dry{.job = {.rank = 6}, .dry_run = true};
    const auto said = simulate(MemorySource(synthetic_clients("120x14x15", 3, 4)), std::move(dry));
    const auto done = simulate(MemorySource(synthetic_clients("120x14x15", 3, 4)), {.job = {.rank = 6}});
    EXPECT_EQ(said.bytes_up, done.bytes_up);
    EXPECT_EQ(said.bytes_down, done.bytes_down);
}

/// Whatever the clients have, a budget is kept or refused, and the bound is true.
TEST(SimulateBudgetTest, IsKeptOrRefusedWhateverTheClientsHave) {
    Random random(5);
    int kept = 0;
    for (int trial = 0; trial < 150; ++trial) {
        const auto order = 1 + random.below(3);
        std::vector<Index> sizes{0};
        for (std::uint64_t n = 0; n < order; ++n) sizes.push_back(1 + static_cast<Index>(random.below(12)));
        const auto clients = 1 + static_cast<Index>(random.below(5));
        std::vector<Tensor<double>> data;
        for (Index k = 0; k < clients; ++k) {
            sizes[0] = random.below(3) == 0 ? 1 : 1 + static_cast<Index>(random.below(20));
            const Shape shape{std::vector<Index>(sizes)};
            const double scale = std::pow(10.0, 60 * std::floor(3 * random.uniform() - 1) * (trial % 2));
            data.push_back(random.below(3) == 0 || trial % 10 == 0
                               ? Tensor<double>::zeros(shape)
                               : population_client(shape, 3, 0.5, 0.1, 1, static_cast<std::uint64_t>(k)));
            for (double& e : data.back().elements()) e *= scale;
        }
        JobOptions job{.network = random.below(2) == 0 ? Network::star : Network::decentralized};
        const Index each = 400 + static_cast<Index>(random.below(random.below(2) == 0 ? 300 : 9000));
        (random.below(2) == 0 ? job.bytes : job.bytes_total) = each;
        if (job.bytes_total) job.bytes_total = each * clients;
        if (random.below(4) == 0) job.rank = 1 + static_cast<Index>(random.below(3));
        job.graph = clients > 1 && random.below(2) == 0 ? "path" : "complete";
        try {
            const auto result = simulate(MemorySource(std::move(data)), {.job = job});
            ++kept;
            EXPECT_LE(result.bytes_up + result.bytes_down, static_cast<double>(each * clients)) << trial;
            EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound) << trial;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("bytes"), std::string::npos) << error.what();
        }
    }
    EXPECT_GT(kept, 90);
}

}  // namespace
}  // namespace couplet
