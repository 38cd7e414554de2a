#include "arithmetic_support.hpp"

namespace couplet::testing {
namespace {

using NormTest = ArithmeticTest;

TEST_F(NormTest, AgreesWithTheDenseNorm) {
    const Outcome run = couplet({"norm", "b.npz"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NEAR(std::stod(run.out), std::sqrt(dense_dot(b_, b_)), 1e-12);
    EXPECT_EQ(couplet({"norm", "b.npz", "--json"}).json()["norm"].get<double>(), std::stod(run.out));
}

TEST_F(NormTest, ATensorIsToldHowToBecomeAModel) {
    const Outcome run = couplet({"norm", "a.npy"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(
        run.err,
        "couplet norm: a.npy: a tensor, by its name; expected a model (.npz). Make one with: couplet decompose a.npy "
        "-o M.npz\n");
}

}  // namespace
}  // namespace couplet::testing
