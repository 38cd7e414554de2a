#include "couplet/privacy/clip.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {

std::vector<double> row_norms(const TensorView<const double>& x) {
    const auto rows = x.unfold(1);
    std::vector<double> norms;
    for (Index i = 0; i < rows.rows; ++i) {
        const ScaledNorm size = scaled_norm<double>(rows.rows_from(i, 1));
        norms.push_back(std::ldexp(std::sqrt(size.squares), size.exponent));
    }
    return norms;
}

double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const double place = std::ceil(q * static_cast<double>(values.size())) - 1;
    return values[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(values.size() - 1)))];
}

Clipped clip_rows(const TensorView<const double>& x, double norm) {
    if (!(norm > 0) || !std::isfinite(norm)) {
        throw InputError({"`clip`", std::to_string(norm), "a positive norm", ""});
    }
    Clipped clipped{Tensor<double>::copy(x)};
    const auto rows = clipped.tensor.view().unfold(1);
    const auto norms = row_norms(x);
    for (Index i = 0; i < rows.rows; ++i) {
        const double length = norms[static_cast<std::size_t>(i)];
        if (length <= norm) continue;
        ++clipped.rows;
        clipped.lost2 += (length - norm) * (length - norm);
        for (Index j = 0; j < rows.cols; ++j) rows(i, j) *= norm / length;
    }
    return clipped;
}

double largest_leverage(const TensorView<const double>& x, Index rank) {
    const auto rows = x.unfold(1);
    if (rows.rows == 0 || squared_norm<double>(rows) == 0) return 0;
    SvdOptions options;
    options.max_rank = std::max<Index>(1, std::min({rank, rows.rows, rows.cols}));
    const auto basis = dominant_basis<double>(rows, Side::left, options);
    double most = 0;
    for (Index i = 0; i < rows.rows; ++i) {
        most = std::max(most, squared_norm<double>(basis.vectors.view().rows_from(i, 1)));
    }
    return most;
}

}  // namespace couplet
