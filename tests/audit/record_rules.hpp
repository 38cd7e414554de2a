#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet::testing {

/// Records of 0 and 1 like those of condition x drug tables: condition i (from 0) with probability 0.7 / (i +
/// 1.5)^0.9, drugs likewise, at least one of each; a record is every condition with every drug. All are different.
inline Matrix<double> condition_drug_records(Index patients, Index conditions, Index drugs, std::uint64_t seed) {
    Random random(seed, 3);
    const auto choose = [&](Index n) {
        std::vector<double> has(static_cast<std::size_t>(n), 0);
        while (true) {
            double any = 0;
            for (Index i = 0; i < n; ++i) {
                const double often = 0.7 / std::pow(static_cast<double>(i) + 1.5, 0.9);
                any += has[static_cast<std::size_t>(i)] = random.uniform() < often;
            }
            if (any > 0) return has;
        }
    };
    Matrix<double> all = Matrix<double>::zeros(patients, conditions * drugs);
    for (Index p = 0; p < patients; ++p) {
        bool known = true;
        while (known) {
            const auto a = choose(conditions);
            const auto b = choose(drugs);
            for (Index i = 0; i < conditions; ++i) {
                for (Index j = 0; j < drugs; ++j) {
                    all(p, i * drugs + j) = a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(j)];
                }
            }
            known = false;
            for (Index q = 0; q < p && !known; ++q) {
                known = std::equal(all.view().row(p), all.view().row(p) + all.cols(), all.view().row(q));
            }
        }
    }
    return all;
}

/// Records of 2 to 7 of `features` features, the first ones more often.
inline Matrix<double> scattered_records(Index patients, Index features, std::uint64_t seed) {
    Random random(seed, 5);
    Matrix<double> all = Matrix<double>::zeros(patients, features);
    for (Index p = 0; p < patients; ++p) {
        const auto count = 2 + random.below(6);
        for (std::uint64_t k = 0; k < count; ++k) {
            const double u = random.uniform();
            all(p, static_cast<Index>(u * u * static_cast<double>(features))) = 1;
        }
    }
    return all;
}

}  // namespace couplet::testing
