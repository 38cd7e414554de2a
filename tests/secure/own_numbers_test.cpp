#include "couplet/secure/own_numbers.hpp"

#include <cmath>

#include "couplet/ctt/client.hpp"
#include "secure_test_support.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;

ShieldPlan plan_for(double bound) {
    ShieldPlan plan;
    plan.job = subspace_job(3);
    plan.bound = bound;
    plan.how = agree_fixed_point(bound, 3, 52);
    return plan;
}

TEST(OwnNumbers, AreTheSumsThatAPlainJobSends) {
    const auto x = support::population(1, {20, 4, 3}, 3, 0.7, 0.05);
    const auto basis = Matrix<double>::identity(12);
    const ShieldPlan plan = plan_for(1e4);
    for (const Want want : {Want::sketch, Want::projected}) {
        const auto numbers = own_numbers(plan, x[0].view(), want, basis);
        const auto expected = (want == Want::projected ? projected_gram(x[0].view(), basis.view())
                                                       : sketch_sum(x[0].view(), basis.view()))
                                  .take();
        ASSERT_EQ(static_cast<Index>(numbers.size()), count_own_numbers(want, basis, {4, 3}));
        const auto decoded = decode_fixed(numbers, plan.how);
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(decoded[i], expected[i], plan.how.step);
    }
    EXPECT_EQ(count_own_numbers(Want::gram, {}, {4, 3}), 78);
}

TEST(OwnNumbers, BeyondTheBoundAreRefusedAndNoiseIsNew) {
    const auto x = support::population(1, {20, 4, 3}, 3, 0.7, 0.05);
    const auto basis = Matrix<double>::identity(12);
    EXPECT_THROW(own_numbers(plan_for(1e-6), x[0].view(), Want::sketch, basis), InputError);
    ShieldPlan noised = plan_for(1e4);
    noised.noise.emplace();
    noised.noise->own = 2;
    noised.noise->clip = 1;
    noised.how = agree_fixed_point(1e4, 3, 30);
    const auto first = decode_fixed(own_numbers(noised, x[0].view(), Want::sketch, basis), noised.how);
    const auto second = decode_fixed(own_numbers(noised, x[0].view(), Want::sketch, basis), noised.how);
    double squares = 0;
    for (std::size_t i = 0; i < first.size(); ++i) squares += (first[i] - second[i]) * (first[i] - second[i]);
    // The difference of two noises of deviation 2: variance 8, of 144 numbers.
    EXPECT_NEAR(squares / static_cast<double>(first.size()), 8, 4);
}

}  // namespace
}  // namespace couplet
