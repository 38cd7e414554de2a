#include "couplet/secure/own_numbers.hpp"

#include "couplet/ctt/client.hpp"

namespace couplet {

using Want = SubspaceIteration::Want;

std::vector<std::uint64_t> own_numbers(const ShieldPlan& plan, const TensorView<const double>& clipped, Want want,
                                       const Matrix<double>& basis) {
    std::vector<double> sum =
        (want == Want::projected ? projected_gram(clipped, basis.view()) : sketch_sum(clipped, basis.view())).take();
    if (plan.noise && plan.noise->own > 0) NoiseSource(Secret::random()).add(sum, plan.noise->own);
    return encode_fixed(sum, plan.how, plan.bound);
}

Index count_own_numbers(Want want, const Matrix<double>& basis, const Shape& features) {
    if (want == Want::sketch) return basis.size();
    const Index n = want == Want::gram ? features.size() : basis.cols();
    return n * (n + 1) / 2;
}

}  // namespace couplet
