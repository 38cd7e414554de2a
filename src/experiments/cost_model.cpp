#include "couplet/experiments/cost_model.hpp"

#include <cmath>

namespace couplet {
namespace {

double size(const CostCase& c, std::size_t mode) { return static_cast<double>(c.features[mode]); }

/// R_{n}, n from 1; R_N = 1 and R_0 = 1.
double rank(const CostCase& c, std::size_t n) {
    return n == 0 || n > c.ranks.size() ? 1 : static_cast<double>(c.ranks[n - 1]);
}

/// I_{begin} ... I_N, feature modes counted from 0.
double product_from(const CostCase& c, std::size_t begin) {
    double product = 1;
    for (std::size_t mode = begin; mode < c.features.size(); ++mode) product *= size(c, mode);
    return product;
}

/// The sum over the feature modes but the last of (R_{n-1} I_n)^2 I_{n+1} ... I_N.
double feature_svds(const CostCase& c) {
    double sum = 0;
    for (std::size_t mode = 0; mode + 1 < c.features.size(); ++mode) {
        sum += std::pow(rank(c, mode + 1) * size(c, mode), 2) * product_from(c, mode + 1);
    }
    return sum;
}

double personal_svd(const CostCase& c) { return std::pow(static_cast<double>(c.patients), 2) * product_from(c, 0); }

}  // namespace

double star_operations(const CostCase& c) {
    const auto clients = static_cast<double>(c.clients);
    double products = 0;
    double prefix = c.features.empty() ? 1 : size(c, 0);
    for (std::size_t mode = 1; mode < c.features.size(); ++mode) {
        prefix *= size(c, mode);
        products += rank(c, mode + 1) * rank(c, mode + 2) * prefix;
    }
    const double mean = clients * rank(c, 1) * product_from(c, 0);
    return clients * (personal_svd(c) + feature_svds(c)) + clients * rank(c, 1) * products + mean + feature_svds(c);
}

double peers_operations(const CostCase& c) {
    const auto clients = static_cast<double>(c.clients);
    const double consensus = static_cast<double>(c.iterations) * clients * rank(c, 1) * product_from(c, 0);
    return clients * (personal_svd(c) + consensus + feature_svds(c));
}

double star_numbers(const CostCase& c) {
    double sum = 0;
    for (std::size_t mode = 0; mode < c.features.size(); ++mode)
        sum += rank(c, mode + 1) * size(c, mode) * rank(c, mode + 2);
    return sum;
}

double peers_numbers(const CostCase& c) { return static_cast<double>(c.iterations) * rank(c, 1) * product_from(c, 0); }

}  // namespace couplet
