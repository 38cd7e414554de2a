#include "couplet/sim/original_units.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {
namespace {

TEST(OriginalUnitsTest, TheErrorIsThatOfTheDataAsItCame) {
    Random random(4);
    Tensor<double> x(Shape{30, 4, 3});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i % 12) * (100 + random.normal());
    const CentringOptions both{.centre = true, .scale = true};
    const Centring centring = centring_of(feature_sums(x.view(), both), both);
    std::vector<Tensor<double>> clients;
    clients.push_back(centred(x.view(), centring, "x"));
    Matrix<double> personal;
    JobOptions job;
    job.rank = 2;
    const SimulationResult result =
        simulate(MemorySource(std::move(clients)), {.job = job, .on_personal = [&](Index, const Matrix<double>& core) {
                                                        personal = Matrix<double>::copy(core.view());
                                                    }});
    const OriginalFit fit = original_fit(x.view(), personal, *result.features, centring, "x");
    // By hand: row times features, scale, mean.
    const Tensor<double> shared = result.features->train.full();
    double error2 = 0;
    double norm2 = 0;
    for (Index p = 0; p < 30; ++p) {
        for (Index i = 0; i < 12; ++i) {
            const double told = personal(p, 0) * shared.data()[i] + personal(p, 1) * shared.data()[12 + i];
            const auto at = static_cast<std::size_t>(i);
            const double left = x.data()[p * 12 + i] - (told * centring.scale[at] + centring.mean[at]);
            error2 += left * left;
            norm2 += x.data()[p * 12 + i] * x.data()[p * 12 + i];
        }
    }
    EXPECT_NEAR(fit.error2, error2, 1e-9 * error2);
    EXPECT_NEAR(fit.norm2, norm2, 1e-9 * norm2);
    EXPECT_LT(fit.error2 / fit.norm2, 0.01 * result.rse) << "most of it is the means";
    EXPECT_THROW(original_fit(x.view().rows(0, 29), personal, *result.features, centring, "x"), InputError);
}

}  // namespace
}  // namespace couplet
