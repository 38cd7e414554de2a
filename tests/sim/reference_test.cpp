#include "couplet/sim/reference.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

Tensor<double> noisy(Shape shape, std::uint64_t seed) {
    Random random(seed);
    Tensor<double> x(std::move(shape));
    for (double& value : x.elements()) value = random.normal();
    return x;
}

std::vector<Tensor<double>> three_clients() {
    std::vector<Tensor<double>> clients;
    clients.push_back(noisy({7, 3, 4}, 1));
    clients.push_back(noisy({5, 3, 4}, 2));
    clients.push_back(noisy({1, 3, 4}, 3));
    return clients;
}

/// Part of the squared norm beyond the first `rank` singular values.
double tail(MatrixView<const double> x, std::size_t rank) {
    const auto sigma = truncated_svd<double>(x, {}).sigma;
    double kept = 0;
    double all = 0;
    for (std::size_t i = 0; i < sigma.size(); ++i) {
        all += sigma[i] * sigma[i];
        if (i < rank) kept += sigma[i] * sigma[i];
    }
    return 1 - kept / all;
}

SimulationOptions of_rank(Index rank) {
    SimulationOptions options;
    options.job.rank = rank;
    options.job.eps2 = 0.0;
    return options;
}

TEST(Reference, CentralizedIsTheBestRowSpaceOfAllRows) {
    Tensor<double> all(Shape{13, 3, 4});
    double* target = all.data();
    for (const auto& client : three_clients()) target = std::copy_n(client.data(), client.size(), target);
    for (const Index rank : {1, 4, 9}) {
        const auto result = reference_centralized(MemorySource(three_clients()), of_rank(rank));
        EXPECT_NEAR(result.rse, tail(all.view().unfold(1), static_cast<std::size_t>(rank)), 1e-12);
        EXPECT_EQ(result.ranks.front(), rank);
        EXPECT_EQ(result.numbers_total, 13 * 12 + 3.0 * static_cast<double>(result.features->train.parameters()));
    }
}

TEST(Reference, LocalIsTheBestRowSpaceOfEachClient) {
    const auto clients = three_clients();
    const auto result = reference_local(MemorySource(three_clients()), of_rank(3));
    ASSERT_EQ(result.rse_per_client.size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(result.rse_per_client[k], tail(clients[k].view().unfold(1), 3), 1e-12) << k;
    }
    EXPECT_EQ(result.personal_ranks, (std::vector<Index>{3, 3, 1}));
    EXPECT_EQ(result.rounds, 0);
    EXPECT_EQ(result.numbers_total, 0);
    EXPECT_FALSE(result.features.has_value());
}

TEST(Reference, AnErrorIsKept) {
    const auto within = [] {
        SimulationOptions options;
        options.job.eps = 0.3;
        return options;
    };
    EXPECT_LE(reference_centralized(MemorySource(three_clients()), within()).rse, 0.09);
    EXPECT_LE(reference_local(MemorySource(three_clients()), within()).rse, 0.09);
}

TEST(Reference, PersonalCoresComeInOrderAndHeldOutPatientsAreScored) {
    SimulationOptions options = of_rank(4);
    std::vector<Index> order;
    options.on_personal = [&](Index k, const Matrix<double>& personal) {
        order.push_back(k);
        EXPECT_EQ(personal.cols(), 4);
    };
    options.heldout = 0.3;
    const auto result = reference_centralized(MemorySource(three_clients()), std::move(options));
    EXPECT_EQ(order, (std::vector<Index>{0, 1, 2}));
    EXPECT_GT(*result.rse_heldout, 0);
}

TEST(Reference, WhatNeedsAFederationIsRefused) {
    SimulationOptions dry = of_rank(2);
    dry.dry_run = true;
    EXPECT_THROW(reference_centralized(MemorySource(three_clients()), std::move(dry)), InputError);
    SimulationOptions saved = of_rank(2);
    saved.save_state = true;
    EXPECT_THROW(reference_local(MemorySource(three_clients()), std::move(saved)), InputError);
    EXPECT_THROW(reference_local(MemorySource({}), of_rank(2)), InputError);
}

}  // namespace
}  // namespace couplet
