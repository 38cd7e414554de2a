#include "core_layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace couplet {
namespace {

TEST(CoreLayout, EveryElementHasItsPlace) {
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 1}, Shape{1, 1, 1}, Shape{5, 1, 2}}) {
        const CoreLayout layout(shape, 0);
        std::set<Index> places;
        for (Index l = 0; l < shape[0]; ++l) {
            for (Index i = 0; i < shape[1]; ++i) {
                for (Index r = 0; r < shape[2]; ++r) places.insert(layout.at(l, i, r));
            }
        }
        EXPECT_EQ(static_cast<Index>(places.size()), shape.size());
        EXPECT_EQ(*places.begin(), 0);
        EXPECT_EQ(*places.rbegin(), shape.size() - 1);
        std::vector<std::int32_t> q(static_cast<std::size_t>(shape.size()));
        EXPECT_EQ(layout.matrix(q.data()).values.size(), shape.size());
    }
}

TEST(CoreLayout, SlicesGetTheStepOverTheWeightOfTheirColumn) {
    // Columns of norm 5 and 0.
    Tensor<double> first(Shape{2, 1, 2});
    first.data()[0] = 3;
    first.data()[1] = 0;
    first.data()[2] = 4;
    first.data()[3] = 0;
    SliceSteps steps(0.5);
    EXPECT_EQ(steps.of(0), 0.5);
    steps.pass(first.view());
    EXPECT_EQ(steps.of(0), 0.1);
    EXPECT_EQ(steps.of(1), 0);
    Tensor<double> second(Shape{2, 1, 1});
    second.data()[0] = 2;
    second.data()[1] = 7;
    steps.pass(second.view());
    EXPECT_EQ(steps.of(0), 0.05);
}

TEST(CoreLayout, IntegersTimesStepsAreTheCore) {
    const Shape shape{2, 2, 2};
    const CoreLayout layout(shape, 0);
    std::vector<std::int32_t> q(8, 0);
    q[static_cast<std::size_t>(layout.at(1, 0, 1))] = -7;
    const auto core = dequantised_core(shape, layout, q, SliceSteps(0.25));
    for (Index i = 0; i < 8; ++i) EXPECT_EQ(core.data()[i], i == 5 ? -1.75 : 0.0);
}

}  // namespace
}  // namespace couplet
