#include "gain.hpp"

#include <gtest/gtest.h>

#include "couplet/core/random.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet::cli {
namespace {

/// Sites of few patients each, all of one three-dimensional kind: none can learn it by itself.
std::vector<Tensor<double>> small_sites() {
    Random random(9);
    std::vector<double> loads(3 * 30);
    for (double& value : loads) value = random.normal();
    std::vector<Tensor<double>> sites;
    for (int k = 0; k < 6; ++k) {
        Tensor<double> x(Shape{8, 6, 5});
        for (Index p = 0; p < 8; ++p) {
            double* row = x.data() + p * 30;
            for (Index i = 0; i < 30; ++i) row[i] = 0.3 * random.normal();
            for (std::size_t r = 0; r < 3; ++r) {
                const double score = random.normal();
                for (std::size_t i = 0; i < 30; ++i) row[i] += score * loads[r * 30 + i];
            }
        }
        sites.push_back(std::move(x));
    }
    return sites;
}

TEST(GainTest, JoiningHelpsThoseWhoHaveFewPatients) {
    const MemorySource source(small_sites());
    JobOptions job;
    job.rank = 3;
    const Preparation how{.heldout = 0.25};
    const SimulationResult result = simulate(source, {.job = job, .heldout = how.heldout});
    const auto gains = measure_gain(source, job, how, result.schema, *result.features);
    ASSERT_EQ(gains.size(), 6U);
    double together = 0;
    double alone = 0;
    int better = 0;
    for (const ClientGain& gain : gains) {
        better += gain.together < gain.alone ? 1 : 0;
        together += gain.together / 6;
        alone += gain.alone / 6;
    }
    EXPECT_GE(better, 5);
    EXPECT_LT(together, alone);
    // Every site holds out two patients of about the same size: the mean is close to the error over all.
    EXPECT_NEAR(together, *result.rse_heldout, 0.3 * *result.rse_heldout);
}

}  // namespace
}  // namespace couplet::cli
