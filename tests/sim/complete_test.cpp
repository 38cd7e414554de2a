#include "couplet/sim/complete.hpp"

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/data/hidden.hpp"
#include "datasets.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using namespace support;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Completed {
    SimulationResult result;
    std::vector<Tensor<double>> models;
};

JobOptions exact(Index rank) { return {.rank = rank, .eps1 = 1e-12, .eps2 = 1e-12}; }

/// The clients with entries hidden at random, completed.
Completed complete(std::vector<Tensor<double>> clients, CompletionOptions options) {
    Completed done;
    options.on_model = [&](Index k, const Tensor<double>& model) {
        EXPECT_EQ(k, static_cast<Index>(done.models.size()));
        done.models.push_back(Tensor<double>::copy(model.view()));
    };
    done.result = simulate_missing(MemorySource(std::move(clients)), std::move(options));
    return done;
}

std::vector<Tensor<double>> hidden(const std::vector<Tensor<double>>& truth, double fraction) {
    std::vector<Tensor<double>> clients;
    Index first = 0;
    for (const auto& x : truth) {
        clients.push_back(Tensor<double>::copy(x.view()));
        hide_entries(clients.back().view(), {.fraction = fraction, .seed = 11, .first_patient = first});
        first += x.shape()[0];
    }
    return clients;
}

/// Squared error on the entries that `seen` hides, over their squared norm.
double hidden_rse(const std::vector<Tensor<double>>& truth, const std::vector<Tensor<double>>& seen,
                  const std::vector<Tensor<double>>& models) {
    double error2 = 0;
    double norm2 = 0;
    for (std::size_t k = 0; k < truth.size(); ++k) {
        for (Index i = 0; i < truth[k].size(); ++i) {
            if (!std::isnan(seen[k].data()[i])) continue;
            error2 += std::pow(truth[k].data()[i] - models[k].data()[i], 2);
            norm2 += std::pow(truth[k].data()[i], 2);
        }
    }
    return error2 / norm2;
}

void expect_finite(const Completed& done) {
    EXPECT_TRUE(std::isfinite(done.result.rse));
    EXPECT_TRUE(std::isfinite(done.result.missing->change));
    for (const auto& model : done.models) EXPECT_FALSE(find_non_finite<double>(model.elements()));
}

TEST(CompleteTest, RecoversExactlyLowRankDataFromMostEntries) {
    const auto truth = synthetic_clients("60x12x10:rank=4", 1, 3);
    const auto seen = hidden(truth, 0.1);
    for (const Aggregate aggregate : {Aggregate::stack, Aggregate::subspace}) {
        CompletionOptions how{.limits = {.max_iterations = 500, .tolerance = 1e-9}};
        how.simulation.job = exact(4);
        how.simulation.job.aggregate = aggregate;
        if (aggregate == Aggregate::subspace) {
            how.simulation.job.eps1.reset();
            how.simulation.job.eps2 = 1e-7;
        }
        const auto done = complete(hidden(truth, 0.1), std::move(how));
        expect_finite(done);
        EXPECT_LE(done.result.rse, 1e-12);
        EXPECT_LE(hidden_rse(truth, seen, done.models), 1e-10);
        EXPECT_NEAR(done.result.missing->fraction, 0.1, 0.02);
        EXPECT_LE(done.result.missing->change, 1e-9);
        EXPECT_LT(done.result.missing->iterations, 500);
        EXPECT_TRUE(done.result.missing->settled);
        // Every iteration takes the same rounds, and the final features one more.
        EXPECT_EQ((done.result.rounds - 1) % done.result.missing->iterations, 0);
        ASSERT_TRUE(done.result.missing->rse_validation);
        EXPECT_LE(*done.result.missing->rse_validation, 1e-10);
        EXPECT_GT(*done.result.missing->rse_means, 0.05);
        EXPECT_FALSE(done.result.rel_error_bound);
    }
}

TEST(CompleteTest, PeersCompleteTheSame) {
    const auto truth = synthetic_clients("60x12x10:rank=4", 1, 4);
    const auto seen = hidden(truth, 0.1);
    for (const Aggregate aggregate : {Aggregate::stack, Aggregate::subspace}) {
        CompletionOptions how{.limits = {.max_iterations = 500, .tolerance = 1e-8}};
        how.simulation.job = {.network = Network::decentralized, .aggregate = aggregate, .rank = 4, .graph = "ring"};
        how.simulation.job.eps2 = 1e-7;
        if (aggregate == Aggregate::stack) how.simulation.job.eps1 = 1e-9;
        const auto done = complete(hidden(truth, 0.1), std::move(how));
        expect_finite(done);
        EXPECT_LE(hidden_rse(truth, seen, done.models), 1e-9);
    }
}

TEST(CompleteTest, OrderFour) {
    const auto truth = synthetic_clients("40x6x5x4:rank=3,density=0.6", 2, 2);
    const auto seen = hidden(truth, 0.2);
    CompletionOptions how{.limits = {.max_iterations = 1000, .tolerance = 1e-9}};
    how.simulation.job = exact(3);
    const auto done = complete(hidden(truth, 0.2), std::move(how));
    EXPECT_LE(hidden_rse(truth, seen, done.models), 1e-9);
}

TEST(CompleteTest, WithoutMissingEntriesItIsTheFederationItself) {
    const auto truth = synthetic_clients("60x12x10", 1, 3);
    // Messages of a completion are not quantised: it would move for ever by their steps.
    const auto plain =
        simulate(MemorySource(synthetic_clients("60x12x10", 1, 3)), {.job = {.rank = 5, .precision = Precision::f64}});
    CompletionOptions how;
    how.simulation.job.rank = 5;
    const auto done = complete(hidden(truth, 0), std::move(how));
    EXPECT_EQ(done.result.missing->iterations, 1);
    EXPECT_EQ(done.result.missing->change, 0);
    EXPECT_EQ(done.result.missing->fraction, 0);
    EXPECT_NEAR(done.result.rse, plain.rse, 1e-12);
    EXPECT_TRUE(done.result.missing->settled);
    EXPECT_FALSE(done.result.missing->rse_validation);
    // The features are told once more, as final.
    const auto again = 3 * static_cast<double>(plain.features->train.parameters());
    EXPECT_EQ(done.result.numbers_total, plain.numbers_total + again);
    EXPECT_EQ(done.result.rounds, plain.rounds + 1);
}

TEST(CompleteTest, ColumnsInAnotherOrderArePutInOneAndNamed) {
    const auto with = [](const std::vector<std::string>& order, const std::vector<Index>& from) {
        const auto truth = synthetic_clients("12x3x4", 1, 1);
        Tensor<double> x(truth[0].shape());
        for (Index i = 0; i < x.size(); ++i) {
            const auto at = truth[0].shape().indices(i);
            const Index column = from[static_cast<std::size_t>(at[1])];
            x.data()[i] = truth[0].data()[(at[0] * 3 + column) * 4 + at[2]];
        }
        x.data()[5] = nan;
        x.set_labels({{}, {"lab", order, {}}, {}});
        return x;
    };
    std::vector<Tensor<double>> clients;
    clients.push_back(with({"a", "b", "c"}, {0, 1, 2}));
    clients.push_back(with({"a", "b", "c"}, {0, 1, 2}));
    clients.push_back(with({"c", "a", "b"}, {2, 0, 1}));
    CompletionOptions how;
    how.simulation.job.rank = 2;
    const auto done = complete(std::move(clients), std::move(how));
    EXPECT_EQ(done.result.schema.modes.at(0).entries, (std::vector<std::string>{"a", "b", "c"}));
    ASSERT_EQ(done.result.reordered.size(), 3U);
    EXPECT_EQ(done.result.reordered[0], "");
    EXPECT_EQ(done.result.reordered[2], "mode 2 (lab) put in the order 'a', 'b', 'c'");
}

TEST(CompleteTest, TheErrorOnWhatIsKnownFalls) {
    const auto truth = synthetic_clients("60x12x10:rank=8,noise=0.1", 1, 3);
    double before = std::numeric_limits<double>::infinity();
    for (const Index iterations : {1, 2, 4, 8, 16}) {
        CompletionOptions how{.limits = {.max_iterations = iterations, .tolerance = 0}};
        how.simulation.job = exact(5);
        const auto done = complete(hidden(truth, 0.4), std::move(how));
        EXPECT_EQ(done.result.missing->iterations, iterations);
        EXPECT_LE(done.result.rse, before * (1 + 1e-9));
        before = done.result.rse;
    }
}

TEST(CompleteTest, PatientsFeaturesAndClientsOfWhichNothingIsKnown) {
    const auto truth = synthetic_clients("60x12x10:rank=4", 1, 3);
    auto seen = hidden(truth, 0.05);
    for (double& e : seen[2].elements()) e = nan;     // a client
    std::fill_n(seen[0].data() + 3 * 120, 120, nan);  // a patient
    for (auto& x : seen) {
        for (Index i = 0; i < x.shape()[0]; ++i) std::fill_n(x.data() + i * 120 + 50, 10, nan);  // a feature of mode 2
    }
    CompletionOptions how{.limits = {.max_iterations = 500, .tolerance = 1e-9}};
    how.simulation.job = exact(4);
    const auto done = complete(std::move(seen), std::move(how));
    expect_finite(done);
    EXPECT_LE(done.result.rse, 1e-10);
    EXPECT_EQ(done.result.rse_per_client[2], 0);
    for (const double e : done.models[2].elements()) EXPECT_EQ(e, 0);
    for (Index j = 0; j < 120; ++j) EXPECT_EQ(done.models[0].data()[3 * 120 + j], 0);
}

TEST(CompleteTest, NothingKnownAnywhereIsRefused) {
    std::vector<Tensor<double>> clients;
    for (int k = 0; k < 2; ++k) {
        clients.push_back(Tensor<double>::zeros({4, 3, 2}));
        for (double& e : clients.back().elements()) e = nan;
    }
    CompletionOptions how;
    how.simulation.job.rank = 2;
    EXPECT_THROW(complete(std::move(clients), std::move(how)), InputError);
}

/// Also where a client has its columns in another order.
TEST(CompleteTest, FeaturesAndClientsThatNobodyKnowsAreFound) {
    std::vector<Tensor<double>> clients;
    for (int k = 0; k < 3; ++k) {
        clients.push_back(Tensor<double>({5, 3, 2}));
        for (double& e : clients.back().elements()) e = k == 2 ? nan : 1;
        const std::vector<std::string> names =
            k == 0 ? std::vector<std::string>{"a", "b", "c"} : std::vector<std::string>{"c", "a", "b"};
        clients.back().set_labels({{}, {"lab", names, {}}, {}});
    }
    const auto hide = [&](std::size_t k, Index column) {
        for (Index i = 0; i < 5; ++i) clients[k].data()[i * 6 + column] = nan;
    };
    hide(0, 2);  // the first of b
    hide(1, 2);  // the first of a, which client 1 knows
    const auto source = [&] {
        std::vector<Tensor<double>> copies;
        for (const auto& x : clients) {
            copies.push_back(Tensor<double>::copy(x.view()));
            copies.back().set_labels(x.labels());
        }
        return MemorySource(std::move(copies));
    };
    EXPECT_EQ(find_unknown(source(), {}, {}).features, 0);
    EXPECT_EQ(find_unknown(source(), {}, {}).clients, std::vector<Index>{2});
    hide(1, 4);  // the first of b
    EXPECT_EQ(find_unknown(source(), {}, {}).features, 1);
}

TEST(CompleteTest, ScaledClientsAndThePrintedMethodInAStarWorkToo) {
    const auto truth = synthetic_clients("60x12x10:rank=4", 1, 3);
    CompletionOptions how{.limits = {.max_iterations = 20}};
    how.simulation.job = exact(4);
    how.simulation.scale_clients = true;
    const auto scaled = complete(hidden(truth, 0.1), std::move(how));
    EXPECT_LE(scaled.result.rse, 1e-3);
    CompletionOptions printed{.limits = {.max_iterations = 5}};
    printed.simulation.job = {.aggregate = Aggregate::average, .rank = 4};
    const auto average = complete(hidden(truth, 0.1), std::move(printed));
    expect_finite(average);
    EXPECT_LT(average.result.rse, 1);
}

TEST(CompleteTest, WhatDoesNotSettleSaysSo) {
    const auto truth = synthetic_clients("60x12x10:rank=4,noise=0.1", 1, 3);
    CompletionOptions how{.limits = {.max_iterations = 3}};
    how.simulation.job = exact(4);
    const auto done = complete(hidden(truth, 0.5), std::move(how));
    EXPECT_FALSE(done.result.missing->settled);
    EXPECT_EQ(done.result.missing->iterations, 3);
    EXPECT_GT(done.result.missing->change, 1e-5);
    expect_finite(done);
    CompletionOptions long_enough;
    long_enough.simulation.job = exact(4);
    EXPECT_TRUE(complete(hidden(truth, 0.5), std::move(long_enough)).result.missing->settled);
}

TEST(CompleteTest, TheValidationErrorIsThatOfTheHiddenEntries) {
    const auto truth = synthetic_clients("120x12x10:rank=6,noise=0.2", 1, 3);
    for (const double fraction : {0.1, 0.4, 0.7}) {
        const auto seen = hidden(truth, fraction);
        CompletionOptions how;
        how.simulation.job = exact(6);
        const auto done = complete(hidden(truth, fraction), std::move(how));
        const double actual = hidden_rse(truth, seen, done.models);
        const MissingReport& missing = *done.result.missing;
        EXPECT_NEAR(*missing.rse_validation, actual, 0.35 * actual) << fraction;
        EXPECT_LT(*missing.rse_validation, *missing.rse_means) << fraction;
        const double known = (1 - missing.fraction) * 120 * 120;
        EXPECT_NEAR(missing.validation, 0.05 * known, 0.01 * known) << fraction;
    }
}

TEST(CompleteTest, NoiseIsNotWorseThanItsMeans) {
    // Nothing here is of low rank: a model of any rank knows less of a hidden entry than the mean does.
    std::vector<Tensor<double>> truth;
    for (std::uint64_t k = 0; k < 2; ++k) {
        auto x = random_matrix<double>(50, 80, 5 + k);
        for (Index i = 0; i < x.size(); ++i) x.data()[i] += 1;
        truth.emplace_back(Shape{50, 80}, std::move(x).release());
    }
    const auto seen = hidden(truth, 0.5);
    CompletionOptions how;
    how.simulation.job = exact(5);
    const auto done = complete(hidden(truth, 0.5), std::move(how));
    EXPECT_TRUE(done.result.missing->settled);
    EXPECT_EQ(done.result.missing->means_weight, 1);
    EXPECT_LE(hidden_rse(truth, seen, done.models), 1.3 * *done.result.missing->rse_means);
}

TEST(CompleteTest, AlmostEverythingMissing) {
    const auto truth = synthetic_clients("80x12x10:rank=4", 1, 4);
    const auto seen = hidden(truth, 0.95);
    CompletionOptions how;
    how.simulation.job = exact(4);
    const auto done = complete(hidden(truth, 0.95), std::move(how));
    expect_finite(done);
    EXPECT_LT(hidden_rse(truth, seen, done.models), 1);
}

TEST(CompleteTest, ThePrintedMethodWithNothingToFillIsItself) {
    JobOptions job{.aggregate = Aggregate::average, .rank = 4};
    const auto plain = simulate(MemorySource(synthetic_clients("60x12x10", 1, 3)), {.job = job});
    CompletionOptions how;
    how.simulation.job = job;
    const auto done = complete(synthetic_clients("60x12x10", 1, 3), std::move(how));
    EXPECT_EQ(done.result.rse, plain.rse);
    EXPECT_TRUE(done.result.missing->settled);
    EXPECT_EQ(done.models.size(), 3U);
}

TEST(CompleteTest, RefusesWhatCannotBeCompleted) {
    const auto message = [](auto change) {
        CompletionOptions how;
        how.simulation.job.rank = 2;
        change(how);
        return message_of(
            [&] { simulate_missing(MemorySource(synthetic_clients("12x4x3:rank=2", 1, 2)), std::move(how)); });
    };
    EXPECT_NE(message([](auto& how) { how.simulation.job.rank.reset(); }).find("`rank`"), std::string::npos);
    EXPECT_NE(message([](auto& how) { how.simulation.job.eps = 0.1; }).find("`eps`"), std::string::npos);
    EXPECT_NE(message([](auto& how) { how.simulation.heldout = 0.1; }).find("`heldout`"), std::string::npos);
    EXPECT_NE(message([](auto& how) { how.simulation.dry_run = true; }).find("`dry_run`"), std::string::npos);
    EXPECT_NE(message([](auto& how) { how.simulation.save_state = true; }).find("`save_state`"), std::string::npos);
    EXPECT_NE(message([](auto& how) {
                  how.simulation.job.aggregate = Aggregate::average;
                  how.simulation.job.refit = false;
              }).find("`no_refit`"),
              std::string::npos);
    EXPECT_NE(message([](auto& how) { how.limits.max_iterations = 0; }).find("at least one"), std::string::npos);
    EXPECT_NE(message([](auto& how) {
                  how.simulation.job.network = Network::decentralized;
                  how.simulation.job.aggregate = Aggregate::average;
              }).find("node to node"),
              std::string::npos);
    EXPECT_EQ(message([](auto&) {}), "");
}

TEST(CompleteTest, InfinityIsNoMissingEntry) {
    auto clients = synthetic_clients("12x4x3:rank=2", 1, 2);
    clients[1].data()[5] = std::numeric_limits<double>::infinity();
    CompletionOptions how;
    how.simulation.job.rank = 2;
    EXPECT_NE(message_of([&] { simulate_missing(MemorySource(std::move(clients)), std::move(how)); }).find("client 2"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet
