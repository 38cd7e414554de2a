#include "couplet/secure/mode_basis.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// The tensor with mode `mode` (from 0) moved last: (all others in order) x I_mode, as a matrix.
Matrix<double> mode_last(const TensorView<const double>& x, Index mode) {
    const Shape& shape = x.shape();
    const Index before = shape.product(0, mode);
    const Index n = shape[mode];
    const Index after = shape.product(mode + 1, shape.order());
    Matrix<double> moved(before * after, n);
    for (Index b = 0; b < before; ++b) {
        const double* from = x.data() + b * n * after;
        for (Index i = 0; i < n; ++i) {
            for (Index a = 0; a < after; ++a) moved(b * after + a, i) = from[i * after + a];
        }
    }
    return moved;
}

/// Rotates mode 2 to the end and multiplies it by a basis: after all feature modes the order is the old one.
Tensor<double> contract_second(const TensorView<const double>& x, MatrixView<const double> basis) {
    std::vector<Index> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    const auto moved = mode_last(x, 1);
    sizes.erase(sizes.begin() + 1);
    sizes.push_back(basis.cols);
    Tensor<double> result{Shape(std::move(sizes))};
    multiply<double>(moved.view(), Op::none, basis, Op::none, {result.data(), moved.rows(), basis.cols});
    return result;
}

/// Basis vectors of a mode that the first `count` products use.
Index used_vectors(const ModeBasis& basis, std::size_t mode, Index count) {
    Index most = 0;
    for (Index j = 0; j < count; ++j) most = std::max(most, basis.products[static_cast<std::size_t>(j)].vector[mode]);
    return most + 1;
}

Index place_of(const ModeProduct& product, const Shape& core) {
    Index place = 0;
    for (std::size_t mode = 0; mode < product.vector.size(); ++mode) {
        place = place * core[static_cast<Index>(mode) + 1] + product.vector[mode];
    }
    return place;
}

}  // namespace

std::vector<ModeProduct> leading_products(const std::vector<std::vector<double>>& values, Index count) {
    std::vector<double> totals;
    for (const auto& mode : values) {
        double total = 0;
        for (const double value : mode) total += value;
        totals.push_back(total > 0 ? total : 1);
    }
    const auto weigh = [&](std::vector<Index> vector) {
        double weight = 1;
        for (std::size_t n = 0; n < values.size(); ++n) {
            weight *= values[n][static_cast<std::size_t>(vector[n])] / totals[n];
        }
        return ModeProduct{std::move(vector), weight};
    };
    const auto later = [](const ModeProduct& a, const ModeProduct& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.vector > b.vector;
    };
    // A product's successors weigh no more than it: whoever is next is among the successors of those before.
    std::priority_queue<ModeProduct, std::vector<ModeProduct>, decltype(later)> next(later);
    std::set<std::vector<Index>> seen{std::vector<Index>(values.size(), 0)};
    next.push(weigh(*seen.begin()));
    std::vector<ModeProduct> leading;
    while (!next.empty() && static_cast<Index>(leading.size()) < count) {
        leading.push_back(next.top());
        next.pop();
        for (std::size_t n = 0; n < values.size(); ++n) {
            auto vector = leading.back().vector;
            if (static_cast<std::size_t>(++vector[n]) == values[n].size() || !seen.insert(vector).second) continue;
            next.push(weigh(std::move(vector)));
        }
    }
    return leading;
}

ModeBasis make_mode_basis(const std::vector<Matrix<double>>& sums, Index count) {
    ModeBasis basis;
    for (const auto& sum : sums) {
        auto eigen = symmetric_eigen(sum.view());
        for (double& value : eigen.values) value = std::max(0.0, value);
        basis.values.push_back(std::move(eigen.values));
        basis.vectors.push_back(std::move(eigen.vectors));
    }
    basis.products = leading_products(basis.values, count);
    return basis;
}

std::vector<Matrix<double>> mode_grams(const TensorView<const double>& x) {
    std::vector<Matrix<double>> sums;
    for (Index mode = 1; mode < x.shape().order(); ++mode) {
        const auto moved = mode_last(x, mode);
        sums.push_back(gram<double>(moved.view(), Side::right));
    }
    return sums;
}

Matrix<double> product_coordinates(const TensorView<const double>& x, const ModeBasis& basis, Index count) {
    Tensor<double> core;
    for (std::size_t mode = 0; mode < basis.vectors.size(); ++mode) {
        const auto used = leading_columns(basis.vectors[mode].view(), used_vectors(basis, mode, count));
        core = contract_second(mode == 0 ? x : std::as_const(core).view(), used.view());
    }
    const auto rows = std::as_const(core).view().unfold(1);
    Matrix<double> coordinates(rows.rows, count);
    for (Index j = 0; j < count; ++j) {
        const Index place = place_of(basis.products[static_cast<std::size_t>(j)], core.shape());
        for (Index i = 0; i < rows.rows; ++i) coordinates(i, j) = rows(i, place);
    }
    return coordinates;
}

Matrix<double> expand_products(MatrixView<const double> coefficients, const ModeBasis& basis) {
    std::vector<Index> sizes{coefficients.rows};
    std::vector<Matrix<double>> transposed;
    for (std::size_t mode = 0; mode < basis.vectors.size(); ++mode) {
        const auto used = leading_columns(basis.vectors[mode].view(), used_vectors(basis, mode, coefficients.cols));
        transposed.push_back(transpose(used.view()));
        sizes.push_back(used.cols());
    }
    auto core = Tensor<double>::zeros(Shape(std::move(sizes)));
    const auto rows = core.view().unfold(1);
    for (Index j = 0; j < coefficients.cols; ++j) {
        const Index place = place_of(basis.products[static_cast<std::size_t>(j)], core.shape());
        for (Index i = 0; i < coefficients.rows; ++i) rows(i, place) = coefficients(i, j);
    }
    for (const auto& mode : transposed) core = contract_second(std::as_const(core).view(), mode.view());
    const Index features = core.shape().product(1, core.shape().order());
    return Matrix<double>::adopt(std::move(core).release(), coefficients.rows, features);
}

}  // namespace couplet
