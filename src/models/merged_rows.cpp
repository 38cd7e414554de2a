#include "couplet/models/merged_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contractions.hpp"
#include "couplet/core/error.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

constexpr Index most_feature_modes = 5;

void require_orthonormal(const TensorTrain<double>& features, const std::string& where) {
    constexpr double tolerance = 1e-6;  // also of features that travelled as 32-bit numbers
    const auto gram = inner_products(features, features);
    for (Index i = 0; i < gram.rows(); ++i) {
        for (Index j = 0; j < gram.cols(); ++j) {
            if (std::abs(gram(i, j) - (i == j ? 1 : 0)) <= tolerance) continue;
            throw InputError({where, "features that are not orthonormal", "those of a merge or of summed moments",
                              "Run the federation with the `aggregate` stack or subspace."});
        }
    }
}

}  // namespace

double MergedRows::norm() const {
    double largest = 0;
    for (Index i = 0; i < weights.size(); ++i) largest = std::max(largest, std::abs(weights.data()[i]));
    if (largest == 0) return 0;
    double squares = 0;
    for (Index i = 0; i < weights.size(); ++i) {
        const double part = weights.data()[i] / largest;
        squares += part * part;
    }
    return largest * std::sqrt(squares);
}

MergedRows merged_rows(TensorTrain<double> features, std::span<const double> sigma, const std::string& where) {
    if (features.order() > most_feature_modes) {
        throw InputError({where, std::to_string(features.order()) + " feature modes", "1 to 5", ""});
    }
    if (static_cast<Index>(sigma.size()) != features.left_rank()) {
        throw InputError({where,
                          std::to_string(sigma.size()) + " singular values of " + std::to_string(features.left_rank()) +
                              " directions",
                          "one for each direction, as a merge or summed moments give them",
                          "Run the federation with the `aggregate` stack or subspace; the printed average has none."});
    }
    require_orthonormal(features, where);
    auto weights = Matrix<double>::zeros(features.left_rank(), features.left_rank());
    for (Index i = 0; i < weights.rows(); ++i) weights(i, i) = sigma[static_cast<std::size_t>(i)];
    MergedRows rows{std::move(features), std::move(weights)};
    if (rows.norm() > 0) return rows;
    throw InputError({where, "a merge of zeros", "data with something in it", ""});
}

MergedRows rows_of_patients(const TensorTrain<double>& features, std::span<const MatrixView<const double>> personal) {
    auto gram = Matrix<double>::zeros(features.left_rank(), features.left_rank());
    for (const auto& site : personal) plain::add_product(site, true, site, gram.view());
    return {features.clone(), plain::power(plain::eigen(gram.view()), 0.5)};
}

}  // namespace couplet
