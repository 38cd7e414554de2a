#include "couplet/secure/own_numbers.hpp"

#include "couplet/ctt/client.hpp"

namespace couplet {

using Want = SubspaceIteration::Want;

std::vector<std::uint64_t> own_numbers(const ShieldPlan& plan, const TensorView<const double>& clipped, Want want,
                                       const Matrix<double>& basis) {
    const std::vector<double> sum =
        (want == Want::projected ? projected_gram(clipped, basis.view()) : sketch_sum(clipped, basis.view())).take();
    auto integers = encode_fixed(sum, plan.how, plan.bound);
    if (plan.noise && plan.noise->own > 0) {
        NoiseSource fresh{Secret::random()};
        const auto numbers = static_cast<std::int64_t>(integers.size());
        const auto variance = noise_variance(plan.noise->own, plan.how.step, plan.noise->clip, numbers);
        add_noise(integers, plan.how.ring, variance, fresh);
    }
    return integers;
}

Index count_own_numbers(Want want, const Matrix<double>& basis, const Shape& features) {
    if (want == Want::sketch) return basis.size();
    const Index n = want == Want::gram ? features.size() : basis.cols();
    return n * (n + 1) / 2;
}

}  // namespace couplet
