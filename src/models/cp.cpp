#include "cp.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "contractions.hpp"
#include "couplet/core/random.hpp"
#include "extrapolation.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

class LeastSquares {
  public:
    LeastSquares(const std::vector<Tensor<double>>& cores, double ridge) : contractions_(cores), ridge_(ridge) {}

    double load(std::vector<Matrix<double>>& factors) {
        contractions_.backward(factors);
        const auto product = contractions_.product(0);
        factors[0] = plain::divide(product.view(), weighted_gram(factors, 0).view());
        return 1 - plain::dot(product.view(), factors[0].view());
    }
    void sweep(std::vector<Matrix<double>>& factors) {
        contractions_.forward(0, factors[0]);
        for (std::size_t n = 1; n < factors.size(); ++n) {
            factors[n] = plain::divide(contractions_.product(n).view(), weighted_gram(factors, n).view());
            if (n + 1 < factors.size()) contractions_.forward(n, factors[n]);
        }
        for (std::size_t n = 1; n < factors.size(); ++n) normalise_columns(factors[n]);
    }

  private:
    /// With the ridge on the squared norm of each component, which is on the diagonal whatever the scales are.
    Matrix<double> weighted_gram(const std::vector<Matrix<double>>& factors, std::size_t n) const {
        auto gram = gram_product(factors, static_cast<Index>(n));
        for (Index r = 0; r < gram.rows(); ++r) gram(r, r) *= 1 + ridge_;
        return gram;
    }

    Contractions contractions_;
    double ridge_;
};

}  // namespace

std::vector<double> normalise_columns(Matrix<double>& factor) {
    std::vector<double> norms(static_cast<std::size_t>(factor.cols()));
    for (Index i = 0; i < factor.rows(); ++i) {
        for (Index r = 0; r < factor.cols(); ++r) norms[static_cast<std::size_t>(r)] += factor(i, r) * factor(i, r);
    }
    for (double& norm : norms) norm = std::sqrt(norm);
    for (Index i = 0; i < factor.rows(); ++i) {
        for (Index r = 0; r < factor.cols(); ++r) {
            if (norms[static_cast<std::size_t>(r)] > 0) factor(i, r) /= norms[static_cast<std::size_t>(r)];
        }
    }
    return norms;
}

std::vector<Matrix<double>> random_factors(const std::vector<Tensor<double>>& cores, Index components, bool positive,
                                           const FactorOptions& options, std::uint64_t start) {
    Random random(options.seed, start + 0x6d6f6465);
    std::vector<Matrix<double>> factors;
    for (const auto& core : cores) {
        Matrix<double> factor(core.shape()[1], components);
        for (Index i = 0; i < factor.size(); ++i) factor.data()[i] = random.uniform() - (positive ? 0 : 0.5);
        normalise_columns(factor);
        factors.push_back(std::move(factor));
    }
    return factors;
}

CpFit fit_cp(const std::vector<Tensor<double>>& cores, const FactorOptions& options, std::uint64_t start) {
    LeastSquares solver(cores, options.ridge);
    const double anything = -std::numeric_limits<double>::infinity();
    return extrapolated(solver, random_factors(cores, options.components, false, options, start), options, anything);
}

Cancelling cancelling_pair(const std::vector<Matrix<double>>& factors) {
    const auto gram = gram_product(factors, -1);
    Cancelling worst;
    double all = 0;
    double sum = 0;
    for (Index r = 0; r < gram.rows(); ++r) {
        all += gram(r, r);
        for (Index s = 0; s < gram.rows(); ++s) sum += gram(r, s);
        for (Index s = 0; s < r; ++s) {
            const double scale = std::sqrt(gram(r, r) * gram(s, s));
            const double congruence = scale > 0 ? gram(r, s) / scale : 0;
            if (congruence < worst.congruence) worst = {s, r, congruence, 0};
        }
    }
    worst.growth = sum > 0 ? all / sum : 0;
    return worst;
}

}  // namespace couplet
