#include "couplet/models/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "contractions.hpp"
#include "couplet/core/random.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

double corrected_for(double value, double chance) { return chance < 1 ? (value - chance) / (1 - chance) : 0; }

/// Products over the modes of the cosines between columns.
Matrix<double> congruences(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b) {
    Matrix<double> result(a.front().cols(), b.front().cols());
    std::fill_n(result.data(), result.size(), 1.0);
    for (std::size_t n = 0; n < a.size(); ++n) {
        const auto cosines = plain::turned_product(a[n].view(), b[n].view());
        for (Index i = 0; i < result.size(); ++i) result.data()[i] *= cosines.data()[i];
    }
    return result;
}

/// The best pair first, then the best of what is left. Modes may turn over in pairs, and loadings with them.
std::vector<double> matched(Matrix<double> products) {
    std::vector<double> found(static_cast<std::size_t>(products.rows()));
    const Index pairs = std::min(products.rows(), products.cols());
    for (Index k = 0; k < pairs; ++k) {
        Index best = 0;
        for (Index i = 1; i < products.size(); ++i) {
            if (std::abs(products.data()[i]) > std::abs(products.data()[best])) best = i;
        }
        const Index row = best / products.cols();
        const Index col = best % products.cols();
        found[static_cast<std::size_t>(row)] = std::min(1.0, std::abs(products(row, col)));
        for (Index j = 0; j < products.cols(); ++j) products(row, j) = 0;
        for (Index i = 0; i < products.rows(); ++i) products(i, col) = 0;
    }
    return found;
}

Matrix<double> shuffled(const Matrix<double>& factor, Random& random) {
    auto out = Matrix<double>::copy(factor.view());
    for (Index i = out.rows() - 1; i > 0; --i) {
        const auto j = static_cast<Index>(random.below(static_cast<std::uint64_t>(i + 1)));
        for (Index r = 0; r < out.cols(); ++r) std::swap(out(i, r), out(j, r));
    }
    return out;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double Agreement::corrected() const { return corrected_for(mean(congruence), chance); }

double Agreement::corrected_least() const {
    return corrected_for(*std::min_element(congruence.begin(), congruence.end()), chance);
}

Agreement factor_agreement(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b,
                           std::uint64_t seed, Index shuffles) {
    Agreement result{.congruence = matched(congruences(a, b))};
    Random random(seed, 0x73687566);
    for (Index k = 0; k < shuffles; ++k) {
        std::vector<Matrix<double>> other;
        for (const auto& factor : b) other.push_back(shuffled(factor, random));
        result.chance += mean(matched(congruences(a, other))) / static_cast<double>(shuffles);
    }
    return result;
}

Agreement space_agreement(const std::vector<Matrix<double>>& a, const std::vector<Matrix<double>>& b) {
    Agreement result{.congruence = {1.0}};
    double least = 1;
    for (std::size_t n = 0; n < a.size(); ++n) {
        const auto cosines = plain::turned_product(a[n].view(), b[n].view());
        const double share = plain::dot(cosines.view(), cosines.view()) / static_cast<double>(a[n].cols());
        // Two spaces that are the whole mode agree whatever they were fitted to.
        const double chance = static_cast<double>(b[n].cols()) / static_cast<double>(b[n].rows());
        if (chance >= 1 || corrected_for(share, chance) > least) continue;
        least = corrected_for(share, chance);
        result = {.congruence = {std::min(1.0, share)}, .chance = chance};
    }
    return result;
}

Agreement row_agreement(const TensorTrain<double>& a, const TensorTrain<double>& b) {
    const auto across = inner_products(a, b);
    const auto own_a = plain::power(plain::eigen(inner_products(a, a).view()), -1);
    const auto own_b = plain::power(plain::eigen(inner_products(b, b).view()), -1);
    const auto left = plain::product(own_a.view(), across.view());
    const auto right = plain::product(left.view(), own_b.view());
    const double common = plain::dot(right.view(), across.view()) / static_cast<double>(a.left_rank());
    const double chance = static_cast<double>(b.left_rank()) / static_cast<double>(a.shape().size());
    return {.congruence = {std::min(1.0, common)}, .chance = std::min(1.0, chance)};
}

Agreement agreement(const Factors& a, const Factors& b, std::uint64_t seed) {
    switch (a.model) {
        case FactorModel::pca:
            return row_agreement(a.rows, b.rows);
        case FactorModel::tucker:
            return space_agreement(a.factors, b.factors);
        case FactorModel::cp:
        case FactorModel::nncp:
            break;
    }
    return factor_agreement(a.factors, b.factors, seed);
}

std::vector<Agreement> start_agreements(const Factors& factors, std::uint64_t seed) {
    std::vector<Agreement> result;
    for (const auto& other : factors.others) {
        result.push_back(factors.model == FactorModel::tucker ? space_agreement(factors.factors, other)
                                                              : factor_agreement(factors.factors, other, seed));
    }
    return result;
}

}  // namespace couplet
