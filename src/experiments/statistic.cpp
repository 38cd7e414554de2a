#include "couplet/experiments/statistic.hpp"

#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {

Statistic summarise(std::span<const double> values) {
    if (values.empty()) throw InputError({"statistic", "no values", "at least one", ""});
    const auto count = static_cast<double>(values.size());
    double mean = 0;
    for (const double value : values) mean += value / count;
    double square = 0;
    for (const double value : values) square += (value - mean) * (value - mean);
    return {mean, values.size() > 1 ? std::sqrt(square / (count - 1)) : 0, static_cast<Index>(values.size())};
}

}  // namespace couplet
