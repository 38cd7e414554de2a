#include "fedsvd.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/products.hpp"
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

TEST(Fedsvd, TakesEverythingWhereNothingIsCut) {
    // More patients than features and fewer, at full rank and at no error: nothing is decomposed then.
    for (const Shape& shape : {Shape{8, 3, 2}, Shape{30, 1, 1}, Shape{2, 5, 4}}) {
        for (const Index rank : {6, 20, 100}) {
            EXPECT_NEAR(run_fedsvd(MemorySource(noisy_clients(shape)), with_rank(rank)).rse, 0, 1e-24)
                << shape.to_string() << " rank " << rank;
        }
        SimulationOptions options;
        options.job.eps = 0.0;
        EXPECT_NEAR(run_fedsvd(MemorySource(noisy_clients(shape)), std::move(options)).rse, 0, 1e-24);
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

TEST(Fedsvd, AnUploadIsMaskedOnBothSides) {
    const auto x = normal_matrix(7, 12, 3);
    const OrthogonalMask features(12, 5, 4, 9);
    const auto upload = masked_upload(x.view(), features, 4, 0);
    // Masks of the patients cancel in the Gram matrix over the features, those of the features in that over patients.
    const auto columns = features.mask_columns(x.view());
    EXPECT_LT(distance(gram<double>(upload.view(), Side::right), gram<double>(columns.view(), Side::right)), 1e-11);
    EXPECT_GT(distance(gram<double>(upload.view(), Side::left), gram<double>(x.view(), Side::left)), 1);
    EXPECT_GT(distance(gram<double>(upload.view(), Side::right), gram<double>(x.view(), Side::right)), 1);
    EXPECT_GT(distance(upload, columns), 1);
    // The same data at another client, and in another job, look otherwise.
    EXPECT_GT(distance(upload, masked_upload(x.view(), features, 4, 1)), 1);
    EXPECT_GT(distance(upload, masked_upload(x.view(), features, 5, 0)), 1);
    EXPECT_EQ(distance(upload, masked_upload(x.view(), features, 4, 0)), 0);
    EXPECT_LT(distance(features.unmask_columns(columns.view()), x), 1e-12);
}

TEST(Fedsvd, UnevenClientsAreStackedInOrder) {
    Clients clients;
    for (const Index rows : {3, 9, 5}) clients.push_back(normal_tensor({rows, 4, 3}, static_cast<std::uint64_t>(rows)));
    const auto again = [&] { return clone(clients); };
    const auto masked = run_fedsvd(MemorySource(again()), with_rank(4));
    const auto plain = reference_centralized(MemorySource(again()), with_rank(4));
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(masked.rse_per_client[k], plain.rse_per_client[k], 1e-10);
    EXPECT_EQ(masked.numbers_up_per_client, 12.0 * 17 / 3);
    EXPECT_EQ(masked.numbers_total, 12 * 17 + 3 * (4 * 12 + 1));
    EXPECT_EQ(masked.personal_ranks, (std::vector<Index>{4, 4, 4}));
}

TEST(Fedsvd, BlocksOfMoreThan256PatientsAreParted) {
    const OrthogonalMask one(1, 5, 4, 9);
    for (const Index rows : {256, 257}) {
        auto x = Matrix<double>::zeros(rows, 1);
        x(0, 0) = 1;
        const auto upload = masked_upload(x.view(), one, 4, 0);
        EXPECT_NE(upload(127, 0), 0);
        EXPECT_EQ(upload(rows - 1, 0) != 0, rows == 256) << rows;
    }
}

}  // namespace
}  // namespace couplet
