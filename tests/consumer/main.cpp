// A program of somebody else: decomposes a tensor of known rank and checks the promised error.
#include <cmath>
#include <cstdio>

#include "couplet/core/error.hpp"
#include "couplet/tensor/tensor.hpp"
#include "couplet/tt/tt_svd.hpp"

int main() {
    int unused;  // a warning under -Wall: compiles only if the library does not force its flags on its users
    auto x = couplet::Tensor<double>::zeros({5, 4, 3});
    for (couplet::Index i = 0; i < x.size(); ++i) x.data()[i] = std::sin(0.1 * static_cast<double>(i));

    const auto result = couplet::tt_svd<double>(x, {.eps = 1e-10});
    const auto full = result.train.full();
    double difference = 0;
    for (couplet::Index i = 0; i < x.size(); ++i) difference += std::pow(full.data()[i] - x.data()[i], 2);

    // sin(a + b) = sin a cos b + cos a sin b: every unfolding has rank 2.
    const bool ranks_right = result.train.ranks() == std::vector<couplet::Index>{1, 2, 2, 1};
    const bool error_right = std::sqrt(difference) <= 1e-10 * result.norm;
    std::printf("couplet %s: ranks %s, error %g\n", couplet::version(), ranks_right ? "right" : "wrong",
                std::sqrt(difference) / result.norm);
    return ranks_right && error_right ? 0 : 1;
}
