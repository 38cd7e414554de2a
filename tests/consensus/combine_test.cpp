#include "couplet/consensus/combine.hpp"

#include <limits>

#include "support.hpp"

namespace couplet {
namespace {

TEST(CombineTest, OnePassEqualsNeighbourByNeighbourToTheBit) {
    for (const Index count : {0, 1, 7, 8, 9, 31, 257}) {
        for (const Index degree : {0, 1, 5}) {
            for (const double momentum : {0.0, 0.37}) {
                const Matrix<double> states = random_states(degree + 2, count, 3);
                std::vector<double> weights;
                std::vector<const double*> others;
                for (Index j = 0; j < degree; ++j) {
                    weights.push_back(1.0 / static_cast<double>(j + 3));
                    others.push_back(states.view().row(j));
                }
                const double* own = states.view().row(degree);
                const double* before = states.view().row(degree + 1);
                std::vector<double> expected(before, before + count);
                std::vector<double> sum(static_cast<std::size_t>(count), 0);
                for (Index j = 0; j < degree; ++j) add_difference(sum.data(), own, others[j], weights[j], count);
                step_state(expected.data(), own, sum.data(), 0.3, momentum, count);
                std::vector<double> actual(before, before + count);
                mix_states(actual.data(), own, others.data(), weights.data(), degree, 0.3, momentum, count);
                EXPECT_EQ(actual, expected) << count << " numbers, degree " << degree;
                for (Index i = 0; i < count; ++i) {
                    double y = 0;
                    for (Index j = 0; j < degree; ++j) y += weights[j] * (others[j][i] - own[i]);
                    EXPECT_NEAR(actual[i], own[i] + 0.3 * y + momentum * (own[i] - before[i]), 1e-14);
                }
            }
        }
    }
}

TEST(CombineTest, NoMomentumDoesNotReadThePreviousState) {
    double previous = std::numeric_limits<double>::quiet_NaN();
    const double own = 2;
    const double sum = 4;
    step_state(&previous, &own, &sum, 0.5, 0, 1);
    EXPECT_EQ(previous, 4);
}

TEST(CombineTest, SumsAndMeans) {
    std::vector<double> sum{1, 2, 3};
    const std::vector<double> other{10, 20, 30};
    add_state(sum.data(), other.data(), 2);
    EXPECT_EQ(sum, (std::vector<double>{11, 22, 3}));
    divide_state(sum.data(), 2, 2);
    EXPECT_EQ(sum, (std::vector<double>{5.5, 11, 3}));
}

}  // namespace
}  // namespace couplet
