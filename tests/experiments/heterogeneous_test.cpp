#include "couplet/experiments/scale.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class HeterogeneousTest : public testing::LabTest {};

TEST_F(HeterogeneousTest, AStackDoesNotNeedClientsThatAgree) {
    put_all();
    const auto result = run("heterogeneous");
    for (const char* scenario :
         {"alike", "sizes 1:2:4:8", "scales, tenfold each", "disjoint features", "flipped signs"}) {
        const Row* ours = find_category(result, "rse", "ctt-star", scenario);
        const Row* all = find_category(result, "rse", "centralized", scenario);
        ASSERT_TRUE(ours && all) << scenario;
        EXPECT_LE(ours->y.mean, 1.5 * all->y.mean + 1e-3) << scenario;
    }
    // A stack does not care about signs, an average does.
    EXPECT_NEAR(find_category(result, "rse", "ctt-star", "flipped signs")->y.mean,
                find_category(result, "rse", "ctt-star", "alike")->y.mean, 1e-3);
    EXPECT_GT(find_category(result, "rse", "printed-star", "flipped signs")->y.mean,
              find_category(result, "rse", "ctt-star", "flipped signs")->y.mean);
}

/// Clients of 48 x 8 x 7 made here by other means.
TEST_F(HeterogeneousTest, ScenariosAreWhatTheirNamesSay) {
    const auto result = run("heterogeneous");
    DataLibrary library(folder_, Effort::tiny);
    const auto data = library.open(DataId::synthetic3, 3);
    const Tensor<double>& all = data->dataset.tensor;
    const auto parts = [&](const std::vector<Index>& ends) {
        std::vector<Tensor<double>> clients;
        Index first = 0;
        for (const Index end : ends) {
            clients.push_back(Tensor<double>::copy(all.view().rows(first, end - first)));
            first = end;
        }
        return clients;
    };
    const auto expect = [&](const char* scenario, std::vector<Tensor<double>> clients, Index rank) {
        const MemorySource source(std::move(clients));
        EXPECT_EQ(dot(result, "rse", "ctt-star", scenario),
                  simulate(source, {.job = testing::couplet_star_job(rank)}).rse)
            << scenario;
        EXPECT_EQ(dot(result, "rse", "ctt-dec", scenario),
                  simulate(source, {.job = testing::couplet_peers_job(rank)}).rse)
            << scenario;
        EXPECT_EQ(dot(result, "rse", "printed-star", scenario),
                  simulate(source, {.job = testing::printed_star_job(rank)}).rse)
            << scenario;
        EXPECT_EQ(dot(result, "rse", "printed-dec", scenario),
                  simulate(source, {.job = testing::printed_peers_job(rank, 3, "complete", "magic")}).rse)
            << scenario;
        EXPECT_EQ(dot(result, "rse", "centralized", scenario),
                  reference_centralized(source, {.job = {.rank = rank}}).rse)
            << scenario;
    };
    const std::vector<Index> quarters{12, 24, 36, 48};
    expect("alike", parts(quarters), 4);
    // 48 / 15, 96 / 15 and 192 / 15, rounded down: 3, 6, 12 and the rest; the first can give a rank of 3.
    expect("sizes 1:2:4:8", parts({3, 9, 21, 48}), 3);
    auto scaled = parts(quarters);
    auto flipped = parts(quarters);
    auto apart = parts(quarters);
    for (std::size_t k = 0; k < 4; ++k) {
        for (double& value : scaled[k].elements()) value *= std::pow(10.0, static_cast<double>(k) - 1.5);
        for (double& value : flipped[k].elements()) value *= k % 2 == 1 ? -1 : 1;
        for (Index i = 0; i < apart[k].size(); ++i) {
            const auto index = apart[k].shape().indices(i)[1];  // two of eight for each
            if (index / 2 != static_cast<Index>(k)) apart[k].data()[i] = 0;
        }
    }
    expect("scales, tenfold each", std::move(scaled), 4);
    expect("disjoint features", std::move(apart), 4);
    expect("flipped signs", std::move(flipped), 4);
    ASSERT_EQ(result.findings.size(), 5U);
    EXPECT_TRUE(result.findings[0].starts_with("Clients alike: the CTT of Zhang et al. 2024 ")) << result.findings[0];
    EXPECT_TRUE(result.findings[1].starts_with("Clients with sizes 1:2:4:8: ")) << result.findings[1];
    const auto text = [&](const char* method) { return rse_text(dot(result, "rse", method, "flipped signs")); };
    expect_said(result.findings[4], "the CTT of Zhang et al. 2024 " + text("printed-star") + ", Couplet " +
                                        text("ctt-star") + ", centralized " + text("centralized"));
}

}  // namespace
}  // namespace couplet
