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

    /// Models of one tensor: named, with one name changed, with two names swapped, and without names.
    void name_modes() {
        python(
            "x = np.arange(24.0).reshape(4, 2, 3) ** 0.5\n"
            "for name, labels in ('named', ['age', 'bmi', 'sbp']), ('renamed', ['age', 'bmi', 'pulse']), "
            "('swapped', ['bmi', 'age', 'sbp']):\n"
            "    np.savez(f't_{name}.npz', tensor=x, labels_3=np.array(labels))\n"
            "np.savez('t_bare.npz', tensor=x)");
        for (const std::string name : {"named", "renamed", "swapped", "bare"}) {
            const Outcome run = couplet({"decompose", "t_" + name + ".npz", "--eps", "0", "-o", name + ".npz"});
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
