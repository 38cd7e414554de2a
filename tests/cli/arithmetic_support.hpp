#pragma once

#include "cli_test_support.hpp"

namespace couplet::testing {

/// Two models, A.npz and B.npz, of tensors that are known densely.
class ArithmeticTest : public CliTest {
  protected:
    void SetUp() override {
        a_ = smooth<double>({5, 4, 3});
        b_ = Tensor<double>(a_.shape());
        for (Index i = 0; i < b_.size(); ++i) b_.data()[i] = std::cos(static_cast<double>(i)) - 0.2;
        save("a.npy", a_);
        save("b.npy", b_);
        for (const std::string name : {"a", "b"}) {
            const Outcome run = couplet({"decompose", name + ".npy", "--eps", "0", "-o", name + ".npz"});
            ASSERT_EQ(run.status, 0) << run.err;
        }
    }

    static double dense_dot(const Tensor<double>& x, const Tensor<double>& y) {
        double sum = 0;
        for (Index i = 0; i < x.size(); ++i) sum += x.data()[i] * y.data()[i];
        return sum;
    }

    Tensor<double> a_;
    Tensor<double> b_;
};

}  // namespace couplet::testing
