#include "fibers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Fibers, GatheredElementsAndRowsBelongTogether) {
    for (const Shape& shape : {Shape{6, 5}, Shape{4, 3, 7}, Shape{2, 3, 4, 5}}) {
        const auto x = normal_tensor(shape, 2);
        const auto factors = normal_factors(shape, 3, 1);
        for (Index mode = 0; mode < shape.order(); ++mode) {
            Random random(5);
            const auto fibers = sample_fibers(shape, mode, 13, random);
            ASSERT_EQ(fibers.starts.size(), 13U);
            EXPECT_TRUE(std::is_sorted(fibers.starts.begin(), fibers.starts.end()));
            const auto values = gather(x.view(), fibers);
            const auto h = sampled_khatri_rao(factors, fibers);
            for (Index s = 0; s < 13; ++s) {
                auto at = shape.indices(fibers.starts[static_cast<std::size_t>(s)]);
                EXPECT_EQ(at[static_cast<std::size_t>(mode)], 0);
                for (Index i = 0; i < shape[mode]; ++i) {
                    at[static_cast<std::size_t>(mode)] = i;
                    EXPECT_EQ(values(i, s), x.data()[shape.offset(at)]);
                    double sum = 0;
                    for (Index r = 0; r < 3; ++r) sum += h(s, r) * factors[static_cast<std::size_t>(mode)](i, r);
                    EXPECT_NEAR(sum, model_at(factors, at), 1e-12);
                }
            }
        }
    }
}

TEST(Fibers, AllAreDrawnEquallyOften) {
    const Shape shape{3, 4, 2};
    Random random(1);
    const auto fibers = sample_fibers(shape, 1, 60'000, random);
    EXPECT_EQ(fiber_count(shape, 1), 6);
    for (const Index start : {0, 1, 8, 9, 16, 17}) {
        const auto count = std::count(fibers.starts.begin(), fibers.starts.end(), start);
        EXPECT_NEAR(static_cast<double>(count), 10'000, 500);  // five standard deviations
    }
}

}  // namespace
}  // namespace couplet
