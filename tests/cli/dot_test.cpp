#include "arithmetic_support.hpp"

namespace couplet::testing {
namespace {

using DotTest = ArithmeticTest;

TEST_F(DotTest, AgreesWithTheDenseProduct) {
    const Outcome run = couplet({"dot", "a.npz", "b.npz"});
    ASSERT_EQ(run.status, 0) << run.err;
    const double expected = dense_dot(a_, b_);
    EXPECT_NEAR(std::stod(run.out), expected, 1e-12 * std::sqrt(dense_dot(a_, a_) * dense_dot(b_, b_)));
    EXPECT_EQ(couplet({"dot", "a.npz", "b.npz", "--json"}).json()["dot"].get<double>(), std::stod(run.out))
        << "all digits are printed";
}

TEST_F(DotTest, OtherModesAreRefused) {
    save("c.npy", smooth<double>({5, 4}));
    ASSERT_EQ(couplet({"decompose", "c.npy", "-o", "c.npz"}).status, 0);
    const Outcome run = couplet({"dot", "a.npz", "c.npz", "--json"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.result(), "");
    EXPECT_EQ(run.err.find("couplet dot: c.npz: modes 5 x 4; expected modes 5 x 4 x 3 as in a.npz."), 0U) << run.err;
}

}  // namespace
}  // namespace couplet::testing
