#include "couplet/experiments/feature_variance.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/rounding.hpp"

namespace couplet {
namespace {

/// Turns every direction of a bond so that its largest entry in the core behind is positive, the first one on a tie.
/// The personal directions, in front of the first core, may be turned freely.
void fix_signs(std::vector<Tensor<double>>& cores) {
    for (std::size_t n = cores.size(); n-- > 0;) {
        const auto rows = cores[n].view().unfold(1);
        for (Index a = 0; a < rows.rows; ++a) {
            double* row = rows.row(a);
            const auto largest =
                std::max_element(row, row + rows.cols, [](double x, double y) { return std::abs(x) < std::abs(y); });
            if (!(*largest < 0)) continue;
            for (Index j = 0; j < rows.cols; ++j) row[j] = -row[j];
            if (n == 0) continue;
            const auto before = cores[n - 1].view().unfold(2);
            for (Index i = 0; i < before.rows; ++i) before(i, a) = -before(i, a);
        }
    }
}

/// Gives the bond between two cores the singular vectors of the second, which carries the norm, as its basis; the norm
/// moves to the first. Directions that are rounding errors go.
void rotate_bond(Tensor<double>& first, Tensor<double>& second, double rounding) {
    const auto svd = truncated_svd<double>(second.view().unfold(1), {.max_tail = rounding});
    const Index rank = svd.v.cols();
    auto weighted = Matrix<double>::copy(svd.u.view());
    for (Index i = 0; i < weighted.rows(); ++i) {
        for (Index j = 0; j < rank; ++j) weighted(i, j) *= svd.sigma[static_cast<std::size_t>(j)];
    }
    auto moved = product<double>(first.view().unfold(2), weighted.view());
    first = Tensor<double>({first.shape()[0], first.shape()[1], rank}, std::move(moved).release());
    second = Tensor<double>({rank, second.shape()[1], second.shape()[2]}, transpose(svd.v.view()).release());
}

/// The cores with the weights of the directions in the first and singular bases in the bonds: the core that carries the
/// norm has orthogonal columns.
std::vector<Tensor<double>> canonical_cores(const Features& given) {
    const Features features = given.orthonormal ? given.clone() : orthonormal_features(given.train);
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < features.train.order(); ++n) cores.push_back(Tensor<double>::copy(features.train.core(n)));
    const auto first = cores.front().view().unfold(1);
    for (Index a = 0; a < first.rows; ++a) {
        for (Index j = 0; j < first.cols; ++j) first(a, j) *= features.sigma[static_cast<std::size_t>(a)];
    }
    auto [train, norm] = left_orthonormalise(TensorTrain<double>(std::move(cores)));
    cores = std::move(train).release();
    for (std::size_t n = cores.size() - 1; n > 0; --n) rotate_bond(cores[n - 1], cores[n], 1e-12 * norm);
    fix_signs(cores);
    return cores;
}

/// The singular values of the bond behind a core that carries the norm.
std::vector<double> column_norms(MatrixView<const double> core) {
    std::vector<double> norms(static_cast<std::size_t>(core.cols), 0.0);
    for (Index i = 0; i < core.rows; ++i) {
        for (Index j = 0; j < core.cols; ++j) norms[static_cast<std::size_t>(j)] += core(i, j) * core(i, j);
    }
    for (double& norm : norms) norm = std::sqrt(norm);
    return norms;
}

double slice_variance(TensorView<const double> core, Index index) {
    const Index left = core.shape()[0];
    const Index right = core.shape()[2];
    const auto count = static_cast<double>(left * right);
    double mean = 0;
    double square = 0;
    const auto at = [&](Index a, Index b) { return core.data()[(a * core.shape()[1] + index) * right + b]; };
    for (Index a = 0; a < left; ++a) {
        for (Index b = 0; b < right; ++b) mean += at(a, b) / count;
    }
    for (Index a = 0; a < left; ++a) {
        for (Index b = 0; b < right; ++b) square += (at(a, b) - mean) * (at(a, b) - mean) / count;
    }
    return square;
}

}  // namespace

std::vector<std::vector<double>> feature_variances(const Features& features) {
    auto cores = canonical_cores(features);
    std::vector<std::vector<double>> variances;
    std::vector<double> weights(static_cast<std::size_t>(cores.front().shape()[0]), 1.0);
    for (Tensor<double>& core : cores) {
        // From here on it carries the norm: its rows get the weights of the bond in front.
        const auto rows = core.view().unfold(1);
        for (Index a = 0; a < rows.rows; ++a) {
            for (Index j = 0; j < rows.cols; ++j) rows(a, j) *= weights[static_cast<std::size_t>(a)];
        }
        weights = column_norms(core.view().unfold(2));
        std::vector<double> mode;
        for (Index i = 0; i < core.shape()[1]; ++i) mode.push_back(slice_variance(core.view(), i));
        variances.push_back(std::move(mode));
    }
    return variances;
}

std::vector<FeatureIndex> most_variable(const std::vector<std::vector<double>>& variances, Index count) {
    if (count < 1) throw InputError({"features", std::to_string(count), "at least 1", ""});
    std::vector<FeatureIndex> all;
    for (std::size_t mode = 0; mode < variances.size(); ++mode) {
        for (std::size_t i = 0; i < variances[mode].size(); ++i) {
            all.push_back({static_cast<Index>(mode), static_cast<Index>(i)});
        }
    }
    const auto variance = [&](const FeatureIndex& at) {
        return variances[static_cast<std::size_t>(at.mode)][static_cast<std::size_t>(at.index)];
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const FeatureIndex& a, const FeatureIndex& b) { return variance(a) > variance(b); });
    all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
    return all;
}

Matrix<double> restrict_to(TensorView<const double> x, const std::vector<FeatureIndex>& kept) {
    const auto sizes = x.shape().sizes().subspan(1);
    const Shape features(std::vector<Index>(sizes.begin(), sizes.end()));
    std::vector<Index> columns;
    for (Index j = 0; j < features.size(); ++j) {
        const auto indices = features.indices(j);
        const bool inside = std::any_of(kept.begin(), kept.end(), [&](const FeatureIndex& at) {
            return indices[static_cast<std::size_t>(at.mode)] == at.index;
        });
        if (inside) columns.push_back(j);
    }
    const auto rows = x.unfold(1);
    Matrix<double> result(rows.rows, static_cast<Index>(columns.size()));
    for (Index i = 0; i < rows.rows; ++i) {
        for (std::size_t j = 0; j < columns.size(); ++j) result(i, static_cast<Index>(j)) = rows(i, columns[j]);
    }
    return result;
}

}  // namespace couplet
