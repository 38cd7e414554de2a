#include "couplet/core/error.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/sim/simulate.hpp"
#include "datasets.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

std::vector<Tensor<double>> copies(const std::vector<Tensor<double>>& clients) {
    std::vector<Tensor<double>> result;
    for (const auto& x : clients) result.push_back(Tensor<double>::copy(x.view()));
    return result;
}

/// ALGORITHMS.md section 2: mean of 20 seeds, 200x30x30, K = 4.
TEST(StarRunTest, PrintedMethodGivesTheMeasuredRse) {
    const Index ranks[] = {5, 10, 15, 20};
    const double expected[] = {0.208, 0.190, 0.182, 0.179};
    const double numbers[] = {3037, 5697, 8370, 11246};
    double rse[4] = {};
    double sent[4] = {};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const MemorySource source(synthetic_clients("200x30x30", seed, 4));
        for (int i = 0; i < 4; ++i) {
            const auto result = simulate(source, {.job = {.aggregate = Aggregate::average, .rank = ranks[i]}});
            rse[i] += result.rse / 20;
            sent[i] += result.numbers_up_per_client / 20;
            EXPECT_EQ(result.rounds, 2);
        }
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT_NEAR(rse[i], expected[i], 0.1 * expected[i]) << "R1 = " << ranks[i];
        EXPECT_NEAR(sent[i], numbers[i], 0.05 * numbers[i]) << "R1 = " << ranks[i];
    }
}

/// The averaged D_k have a free sign each: another rule than the largest entry positive gives another result.
TEST(StarRunTest, PrintedMethodNeedsTheSignRule) {
    const auto clients = synthetic_clients("200x30x30", 3, 4);
    const auto printed = simulate(MemorySource(copies(clients)),
                                  {.job = {.aggregate = Aggregate::average, .rank = 10, .eps1 = 0, .eps2 = 0}});
    auto mean = Matrix<double>::zeros(10, 900);
    double norm2 = 0;
    for (std::size_t k = 0; k < 4; ++k) {
        auto step = average_client(clients[k].view(), 10, 0);
        EXPECT_TRUE(obeys_sign_rule(step.personal.view()));
        norm2 += step.upload.norm2;
        for (Index i = 0; i < mean.size(); ++i) mean.data()[i] += (k % 2 == 0 ? 0.25 : -0.25) * step.weighted.data()[i];
    }
    const double other = 1 - 4 * squared_norm<double>(mean.view()) / norm2;
    EXPECT_GT(other, 2 * printed.rse);
}

TEST(StarRunTest, CountersAreThePapersFormulas) {
    const auto clients = synthetic_clients("60x8x9x7", 1, 3);
    double up = 0;
    double bytes = 0;
    for (const auto& x : clients) {
        const auto step = average_client(x.view(), 4, 0.1);
        const auto& ranks = step.upload.block->train().ranks();
        // sum over n >= 2 of R_{n-1} I_n R_n
        const auto numbers = static_cast<double>(4 * 8 * ranks[1] + ranks[1] * 9 * ranks[2] + ranks[2] * 7);
        up += numbers;
        bytes += static_cast<double>(serialised_bytes(step.upload));
    }
    const auto result = simulate(MemorySource(copies(clients)), {.job = {.aggregate = Aggregate::average, .rank = 4}});
    EXPECT_EQ(result.numbers_up_per_client, up / 3);
    EXPECT_EQ(result.bytes_up, bytes);
    const auto& r = result.ranks;
    const auto down = static_cast<double>(r[0] * 8 * r[1] + r[1] * 9 * r[2] + r[2] * 7);
    EXPECT_EQ(result.numbers_down_per_client, down);
    EXPECT_EQ(result.numbers_total, up + 3 * down);
    const FeaturesMessage shared{result.features->clone(), result.rel_error_bound};
    EXPECT_EQ(result.bytes_down, 3 * static_cast<double>(serialised_bytes(shared)));
}

TEST(StarRunTest, SubspaceCountsSumsAndBases) {
    const auto clients = synthetic_clients("60x30x30:noise=0.5", 1, 3);
    const auto result = simulate(MemorySource(copies(clients)), {.job = {.aggregate = Aggregate::subspace, .rank = 5}});
    const double p = 900, l = 15;
    // F has at most 3 l columns; all are there on this data.
    const double q = 3 * l;
    EXPECT_EQ(result.numbers_up_per_client, 3 * p * l + q * (q + 1) / 2);
    EXPECT_EQ(result.numbers_down_per_client,
              2 * p * l + p * q + static_cast<double>(result.features->train.parameters()));
    EXPECT_EQ(result.rounds, 8);
}

/// stack at eps1 = eps2 = 0.01 and client ranks capped at R1, against centralized TT-SVD.
void expect_centralized_accuracy(const Tensor<double>& all, Index rank, const std::vector<Index>& counts,
                                 const std::string& what) {
    const double centralized = centralized_rse(all, rank, 0.01);
    for (const Index clients : counts) {
        const MemorySource source(split_rows(all.view(), clients));
        const auto stack = simulate(source, {.job = {.rank = rank, .eps1 = 0.01, .eps2 = 0.01}});
        EXPECT_LE(stack.rse, 1.02 * centralized + 1e-4) << what << " K = " << clients;
        EXPECT_EQ(stack.rounds, 2);
        EXPECT_LE(std::sqrt(stack.rse), *stack.rel_error_bound + 1e-12);
        // The printed method's message at the same eps1 and R1, where every client can give that rank.
        const Index smallest = all.shape()[0] / clients;
        if (smallest >= rank) {
            const auto printed = simulate(
                source, {.job = {.aggregate = Aggregate::average, .rank = rank, .eps1 = 0.01}, .dry_run = true});
            EXPECT_LE(stack.bytes_up, printed.bytes_up) << what << " K = " << clients;
        }
    }
}

TEST(StackAccuracyTest, SyntheticThreeWay) {
    for (const Index rank : {10, 20}) {
        expect_centralized_accuracy(gather_rows(synthetic_clients("200x30x30", 5, 1)), rank, {1, 2, 4, 8, 16},
                                    "3-way R1 " + std::to_string(rank));
    }
}

TEST(StackAccuracyTest, SyntheticFourWay) {
    expect_centralized_accuracy(gather_rows(synthetic_clients("200x12x12x12", 5, 1)), 10, {1, 2, 4, 8, 16}, "4-way");
}

TEST(StackAccuracyTest, NoisyGaussian) {
    expect_centralized_accuracy(gather_rows(synthetic_clients("200x15x15:personal=gaussian,noise=0.3", 5, 1)), 10,
                                {1, 2, 4, 8, 16}, "noisy");
}

/// Quantised messages beside 64-bit numbers, four clients, eps1 = eps2 = 0.01: so many times fewer bytes for the error.
void expect_fewer_bytes(const Tensor<double>& all, Index rank, double times) {
    const MemorySource source(split_rows(all.view(), 4));
    const auto run = [&](Precision precision) {
        return simulate(source, {.job = {.rank = rank, .eps1 = 0.01, .eps2 = 0.01, .precision = precision}});
    };
    const auto numbers = run(Precision::f64);
    const auto coded = run(Precision::automatic);
    EXPECT_LE(times * (coded.bytes_up + coded.bytes_down), numbers.bytes_up + numbers.bytes_down);
    EXPECT_LE(coded.rse, 1.005 * numbers.rse + 1e-4);
    EXPECT_LE(std::sqrt(coded.rse), *coded.rel_error_bound);
}

TEST(StackBytesTest, SyntheticTakesATenth) {
    expect_fewer_bytes(gather_rows(synthetic_clients("200x30x30", 0, 1)), 20, 10);
    expect_fewer_bytes(gather_rows(synthetic_clients("200x20x20x20", 0, 1)), 20, 10);
}

class RealDataTest : public ::testing::TestWithParam<RealData> {};

TEST_P(RealDataTest, QuantisedMessagesTakeATenthOrLess) {
    const auto x = load_real(GetParam().name);
    if (!x) GTEST_SKIP() << "COUPLET_DATA is not set; it names the folder with the public data files";
    expect_fewer_bytes(*x, 50, std::string(GetParam().name) == "ecg" ? 15 : 10);
}

TEST_P(RealDataTest, StackReachesCentralizedAccuracy) {
    const auto x = load_real(GetParam().name);
    if (!x) GTEST_SKIP() << "COUPLET_DATA is not set; it names the folder with the public data files";
    expect_centralized_accuracy(*x, GetParam().rank, {1, 2, 4, 8, 16}, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Public, RealDataTest,
                         ::testing::Values(RealData{"ecg", 30}, RealData{"diabetes", 30}, RealData{"cms", 30}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(StarRunTest, UnequalClientsAreCertified) {
    auto clients = population(5, {9, 5, 6}, 4, 0.7, 0.1, 2);
    clients.push_back(population_client({1, 5, 6}, 4, 0.7, 0.1, 2, 9));
    clients.push_back(population_client({40, 5, 6}, 4, 0.7, 0.1, 2, 10));
    for (double& x : clients[0].elements()) x *= 1e6;
    for (double& x : clients[1].elements()) x *= 1e-6;
    for (const double eps : {0.3, 0.03, 1e-4}) {
        const auto result = simulate(MemorySource(copies(clients)), {.job = {.eps = eps}});
        EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound + 1e-12);
        EXPECT_LE(*result.rel_error_bound, eps * (1 + 1e-9));
    }
}

TEST(StarRunTest, SavedStateTakesOneMoreClient) {
    const auto clients = population(6, {9, 5, 6}, 4, 0.7, 0.1, 2);
    for (const JobOptions& job : {JobOptions{.eps = 0.2}, JobOptions{.rank = 3}}) {
        auto first = copies(clients);
        first.pop_back();
        auto saved = simulate(MemorySource(std::move(first)), {.job = job, .save_state = true});
        ASSERT_TRUE(saved.state);
        EXPECT_EQ(saved.state->ledger().clients, 5);
        std::vector<Tensor<double>> last;
        last.push_back(Tensor<double>::copy(clients.back().view()));
        SimulationOptions options{.job = job};
        options.resume = std::move(saved.state);
        const auto resumed = simulate(MemorySource(std::move(last)), std::move(options));
        const auto whole = simulate(MemorySource(copies(clients)), {.job = job});
        double error2 = 0, norm2 = 0;
        for (const auto& x : clients) {
            const auto fit = refit(x.view(), *resumed.features);
            error2 += fit.error2;
            norm2 += fit.norm2;
        }
        EXPECT_LE(std::sqrt(error2 / norm2), *resumed.rel_error_bound + 1e-12);
        if (job.eps) {
            EXPECT_LE(*resumed.rel_error_bound, *job.eps * (1 + 1e-9));
        }
        if (job.rank) {
            EXPECT_NEAR(error2 / norm2, whole.rse, 0.02 * whole.rse);
        }
    }
}

/// A hospital that sends anew every night: what it sent before is taken out, so nothing piles up.
TEST(StarRunTest, FourteenNightsOfAClientThatReplacesItself) {
    for (const JobOptions& job : {JobOptions{.eps = 0.15}, JobOptions{.rank = 4}}) {
        Clients latest = population(5, {9, 5, 6}, 4, 0.7, 0.1, 2);
        const std::vector<std::string> names{"a", "b", "c", "d", "e"};
        SimulationOptions first{.job = job};
        first.names = names;
        first.save_state = true;
        std::optional<SavedMerge> saved = std::move(simulate(MemorySource(copies(latest)), std::move(first)).state);
        for (std::uint64_t night = 1; night <= 14; ++night) {
            const std::size_t k = night % 3 == 0 ? 1 : 0;  // a, a, b, ...
            latest[k] = population_client({9 + static_cast<Index>(night % 4), 5, 6}, 4, 0.7, 0.1, 2, 100 + night);
            for (double& x : latest[k].elements()) x *= night % 5 == 0 ? 30 : 1;
            Clients tonight;
            tonight.push_back(Tensor<double>::copy(latest[k].view()));
            SimulationOptions how{.job = job};
            how.names = {names[k]};
            how.save_state = true;
            how.resume = std::move(saved);
            auto result = simulate(MemorySource(std::move(tonight)), std::move(how));
            ASSERT_EQ(result.replaced, std::vector<std::string>{names[k]});
            EXPECT_EQ(result.resumed_clients, 4);
            saved = std::move(result.state);
            ASSERT_EQ(saved->contributions.size(), 5U);
            EXPECT_EQ(saved->contributions.back().client, names[k]);
            double error2 = 0, norm2 = 0;
            for (const auto& x : latest) {
                const auto fit = refit(x.view(), *result.features);
                error2 += fit.error2;
                norm2 += fit.norm2;
            }
            EXPECT_NEAR(saved->ledger().norm2, norm2, 1e-9 * norm2);
            EXPECT_LE(std::sqrt(error2 / norm2), *result.rel_error_bound) << night;
            // As if the latest uploads had come all at once.
            const Ledger all = saved->ledger();
            Merger merger(resolve_job(job), Shape{5, 6}, {all.clients, all.rows, all.norm2});
            for (MergeState& state : saved->states()) merger.add(std::move(state));
            EXPECT_EQ(merger.finish().rel_error_bound, *result.rel_error_bound) << night;
        }
    }
}

Tensor<double> labelled(const Tensor<double>& x, std::vector<std::string> labels) {
    auto copy = Tensor<double>::copy(x.view());
    copy.set_labels({{}, {"", std::move(labels), {}}, {}});
    return copy;
}

TEST(StarRunTest, ClientsInAnotherOrderGiveTheSameFeatures) {
    const auto clients = population(3, {12, 5, 6}, 4, 0.7, 0.1, 2);
    const std::vector<std::string> labels{"a", "b", "c", "d", "e"};
    const std::vector<std::string> other{"e", "c", "a", "d", "b"};
    const Alignment back{{4, 2, 0, 3, 1}, {}};  // other[back[i]] is what x has at i
    for (const JobOptions& job : {JobOptions{.rank = 3}, JobOptions{.aggregate = Aggregate::subspace, .rank = 3},
                                  JobOptions{.aggregate = Aggregate::average, .rank = 3}, JobOptions{.eps = 0.2}}) {
        Clients straight, permuted;
        for (const auto& x : clients) straight.push_back(labelled(x, labels));
        permuted.push_back(labelled(clients[0], labels));
        permuted.push_back(labelled(reordered(clients[1].view(), back), other));
        permuted.push_back(labelled(clients[2], labels));
        SimulationOptions how{.job = job};
        if (job.aggregate != Aggregate::average) how.heldout = 0.25;
        const auto a =
            simulate(MemorySource(std::move(straight)), SimulationOptions{.job = how.job, .heldout = how.heldout});
        const auto b =
            simulate(MemorySource(std::move(permuted)), SimulationOptions{.job = how.job, .heldout = how.heldout});
        EXPECT_NEAR(a.rse, b.rse, 1e-10);
        if (a.rse_heldout) {
            EXPECT_NEAR(*a.rse_heldout, *b.rse_heldout, 1e-10);
        }
        EXPECT_EQ(b.schema.modes.at(0).entries, labels);
        EXPECT_TRUE(b.reordered[0].empty());
        EXPECT_NE(b.reordered[1].find("mode 2"), std::string::npos);
        if (a.features->orthonormal) {
            EXPECT_LT(row_space_distance(*a.features, *b.features), 1e-7);
        }
    }
}

}  // namespace
}  // namespace couplet
