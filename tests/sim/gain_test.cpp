#include "couplet/sim/gain.hpp"

#include <gtest/gtest.h>

#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {
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
    for (const auto& measured : gains) {
        ASSERT_TRUE(measured);
        const ClientGain& gain = *measured;
        better += gain.together < gain.alone ? 1 : 0;
        together += gain.together / 6;
        alone += gain.alone / 6;
    }
    EXPECT_GE(better, 5);
    EXPECT_LT(together, alone);
    // Every site holds out two patients of about the same size: the mean is close to the error over all.
    EXPECT_NEAR(together, *result.rse_heldout, 0.3 * *result.rse_heldout);
}

TEST(GainTest, WhoHoldsOutNobodyHasNoGain) {
    const MemorySource source(small_sites());
    JobOptions job;
    job.rank = 3;
    const SimulationResult result = simulate(source, {.job = job, .heldout = 0.25});
    for (const auto& gain : measure_gain(source, job, {}, result.schema, *result.features)) EXPECT_FALSE(gain);
}

TEST(GainTest, AloneIsExactWhateverTheMessagesCost) {
    const MemorySource source(small_sites());
    JobOptions job;
    job.rank = 3;
    const Preparation how{.heldout = 0.25};
    const SimulationResult result = simulate(source, {.job = job, .heldout = how.heldout});
    const auto exact = measure_gain(source, job, how, result.schema, *result.features);
    job.eps1 = 0.6;
    const auto coarse = measure_gain(source, job, how, result.schema, *result.features);
    for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_DOUBLE_EQ(exact[k]->alone, coarse[k]->alone);
}

TEST(GainTest, AloneKnowsNoMeansButItsOwn) {
    // Sites whose means are far apart: by the federation's means a site would seem to learn badly by itself.
    std::vector<Tensor<double>> raw = small_sites();
    for (std::size_t k = 0; k < raw.size(); ++k) {
        for (Index i = 0; i < raw[k].size(); ++i) {
            raw[k].data()[i] = (i % 2 == 0 ? 1 : 0.2) * (raw[k].data()[i] + 20.0 * static_cast<double>(k));
        }
    }
    const Preparation how{.heldout = 0.25};
    JobOptions job;
    job.rank = 3;
    for (const bool scale : {false, true}) {
        FeatureSums sums;
        for (const auto& x : raw) sums.add(feature_sums(x.view(), {true, scale}));
        const Centring centring = centring_of(sums, {true, scale});
        std::vector<Tensor<double>> moved;
        for (const auto& x : raw) moved.push_back(centred(x.view(), centring, "x"));
        const MemorySource source(std::move(moved));
        const SimulationResult result = simulate(source, {.job = job, .heldout = how.heldout});
        const auto gains = measure_gain(source, job, how, result.schema, *result.features, centring);
        for (std::size_t k = 0; k < raw.size(); ++k) {
            // By hand: the site's own means, learnt and judged in the units of the job.
            const HeldOut parts = hold_out(raw[k].view(), how.heldout, job.seed, static_cast<Index>(k));
            Centring own = centring_of(feature_sums(parts.training.view(), {.centre = true}), {.centre = true});
            own.scale = centring.scale;
            std::vector<Tensor<double>> mine;
            mine.push_back(centred(parts.training.view(), own, "x"));
            JobOptions alone = job;
            alone.eps1 = 0;
            alone.precision = Precision::f64;
            const SimulationResult learnt = simulate(MemorySource(std::move(mine)), {.job = alone});
            const double error2 = refit(centred(parts.heldout.view(), own, "x").view(), *learnt.features).error2;
            const Tensor<double> job_units = centred(parts.heldout.view(), centring, "x");
            const double norm2 = squared_norm<double>(job_units.view().unfold(1));
            EXPECT_NEAR(gains[k]->alone, error2 / norm2, 1e-9 * (1 + error2 / norm2)) << k << scale;
        }
    }
}

TEST(GainTest, PeersWithoutNamesHaveOneToo) {
    const MemorySource source(small_sites());
    JobOptions job{.network = Network::decentralized, .rank = 3};
    const Preparation how{.heldout = 0.25};
    const SimulationResult result = simulate(source, {.job = job, .heldout = how.heldout});
    EXPECT_EQ(result.schema.features, (Shape{6, 5}));
    for (const auto& gain : measure_gain(source, job, how, result.schema, *result.features)) {
        ASSERT_TRUE(gain);
        EXPECT_GT(gain->together, 0);
    }
}

TEST(GainTest, IsTheSameInEveryUnit) {
    // Three patients learn, and two directions are left about their means: a third would be rounding.
    const Preparation how{.heldout = 0.6};
    JobOptions job;
    job.rank = 3;
    const auto gains_in = [&](double unit) {
        std::vector<Tensor<double>> sites = small_sites();
        FeatureSums sums;
        for (auto& x : sites) {
            for (double& value : x.elements()) value = unit * (value + 30);
            sums.add(feature_sums(x.view(), {.centre = true}));
        }
        const Centring centring = centring_of(sums, {.centre = true});
        for (auto& x : sites) x = centred(x.view(), centring, "x");
        const MemorySource source(std::move(sites));
        const SimulationResult result = simulate(source, {.job = job, .heldout = how.heldout});
        return measure_gain(source, job, how, result.schema, *result.features, centring);
    };
    const auto expected = gains_in(1);
    for (const double unit : {3.0, 7.0, 1e-4}) {
        const auto found = gains_in(unit);
        for (std::size_t k = 0; k < expected.size(); ++k) {
            EXPECT_NEAR(found[k]->alone, expected[k]->alone, 1e-9) << unit;
            EXPECT_NEAR(found[k]->together, expected[k]->together, 1e-6) << unit;
        }
    }
}

}  // namespace
}  // namespace couplet
