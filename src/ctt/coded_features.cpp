#include "couplet/ctt/coded_features.hpp"

#include <utility>

#include "code_rows.hpp"
#include "weighted_train.hpp"

namespace couplet {

Features coded_features(const Features& features, double loss) {
    double norm2 = 0;
    for (const double sigma : features.sigma) norm2 += sigma * sigma;
    const CodeLimits limits{loss * loss * norm2, loss * loss * norm2};
    const auto weighted = weighted_train(features);
    auto coded = can_expand(weighted.left_rank(), weighted.shape())
                     ? code_rows(expanded(weighted), weighted.shape(), limits)
                     : code_train(weighted, limits);
    if (!coded) return features.clone();
    return decoded_features(std::move(coded->code), std::move(coded->cores));
}

}  // namespace couplet
