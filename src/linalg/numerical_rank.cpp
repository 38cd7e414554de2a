#include "couplet/linalg/numerical_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "couplet/linalg/svd.hpp"

namespace couplet {

Index numerical_rank(std::span<const double> values, double noise) noexcept {
    const auto end = std::ranges::find_if(values, [noise](double value) { return !(value > noise); });
    return std::max<Index>(1, static_cast<Index>(end - values.begin()));
}

double rounding_noise(Index rows, Index cols, double norm) noexcept {
    return std::numeric_limits<double>::epsilon() * static_cast<double>(rows + cols) * norm;
}

double gram_noise(double trace) noexcept { return gram_limit * gram_limit * std::max(0.0, trace); }

double white_noise(Index rows, Index cols, double deviation) noexcept {
    return deviation * (std::sqrt(static_cast<double>(rows)) + std::sqrt(static_cast<double>(cols)));
}

double spread_noise(Index rows, Index cols, double norm) noexcept {
    return white_noise(rows, cols, norm / std::sqrt(static_cast<double>(rows) * static_cast<double>(cols)));
}

double step_deviation(double step, Index terms) noexcept { return step * std::sqrt(static_cast<double>(terms) / 12); }

}  // namespace couplet
