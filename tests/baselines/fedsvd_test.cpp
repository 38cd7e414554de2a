#include "fedsvd.hpp"

#include <gtest/gtest.h>

#include "couplet/sim/reference.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

Clients noisy_clients(const Shape& shape) {
    Clients clients;
    for (std::uint64_t k = 0; k < 3; ++k) clients.push_back(normal_tensor(shape, 40 + k));
    return clients;
}

SimulationOptions exact(Index rank) {
    auto options = with_rank(rank);
    options.job.eps2 = 0.0;
    options.heldout = 0.2;
    return options;
}

TEST(Fedsvd, IsCentralizedToRounding) {
    for (const Shape& shape : {Shape{10, 14}, Shape{8, 5, 4}, Shape{6, 3, 2, 4}}) {
        for (const Index rank : {1, 3, 9}) {
            const auto masked = run_fedsvd(MemorySource(noisy_clients(shape)), exact(rank));
            const auto plain = reference_centralized(MemorySource(noisy_clients(shape)), exact(rank));
            EXPECT_NEAR(masked.rse, plain.rse, 1e-12) << shape.to_string();
            EXPECT_NEAR(*masked.rse_heldout, *plain.rse_heldout, 1e-10);
            EXPECT_EQ(masked.ranks, plain.ranks);
            for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(masked.rse_per_client[k], plain.rse_per_client[k], 1e-10);
        }
    }
}

TEST(Fedsvd, KeepsAnErrorThatIsAskedFor) {
    SimulationOptions options;
    options.job.eps = 0.3;
    const auto result = run_fedsvd(MemorySource(noisy_clients({12, 5, 4})), std::move(options));
    EXPECT_LE(std::sqrt(result.rse), 0.3);
    EXPECT_GT(result.rse, 0);
}

TEST(Fedsvd, TheMaskedDataAreCountedAsSent) {
    const auto result = run_fedsvd(MemorySource(noisy_clients({8, 5, 4})), with_rank(3));
    EXPECT_EQ(result.numbers_up_per_client, 8 * 20);
    EXPECT_EQ(result.numbers_down_per_client, 3 * 20 + 1);
    EXPECT_EQ(result.rounds, 2);
}

}  // namespace
}  // namespace couplet
