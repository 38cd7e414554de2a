#include "couplet/ctt/merge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/rounding.hpp"

namespace couplet {
namespace {

constexpr double dense_limit = 1 << 26;
constexpr double most_eps = 1 - 1e-9;
// Directions below this part of the norm are rounding noise; dropping them keeps exact ranks exact.
constexpr double rounding_eps = 1e-14;

Index total_rows(std::span<const FeatureBlock* const> blocks) {
    Index rows = 0;
    for (const auto* block : blocks) rows += block->rows();
    return rows;
}

void require_mergeable(std::span<const FeatureBlock* const> blocks) {
    if (blocks.empty()) throw InputError({"merge", "no blocks", "at least one", ""});
    for (const auto* block : blocks) {
        if (block->features() == blocks.front()->features()) continue;
        throw InputError({"merge", "feature modes " + block->features().to_string(),
                          blocks.front()->features().to_string() + " as in the first block", ""});
    }
}

/// S, multiplied out.
Matrix<double> stacked_rows(std::span<const FeatureBlock* const> blocks) {
    const Index cols = blocks.front()->features().size();
    Matrix<double> s(total_rows(blocks), cols);
    Index row = 0;
    for (const auto* block : blocks) {
        block->expand(s.view().rows_from(row, block->rows()));
        row += block->rows();
    }
    return s;
}

struct Rotation {
    Matrix<double> v;  ///< r x R1
    std::vector<double> sigma;
    double tail2 = 0;
};

/// Singular directions of the rows that carry the weights, as far as they are above the noise.
Rotation singular_rotation(MatrixView<const double> weights, double tail2, const MergeCuts& cuts) {
    auto svd = truncated_svd<double>(weights, {.max_tail = std::sqrt(std::max(0.0, tail2)), .max_rank = cuts.max_rank});
    const double rounding = rounding_noise(weights.rows, weights.cols, std::sqrt(squared_norm<double>(weights)));
    const Index rank = numerical_rank(svd.sigma, rounding + cuts.noise);
    while (static_cast<Index>(svd.sigma.size()) > rank) {
        svd.tail2 += svd.sigma.back() * svd.sigma.back();
        svd.sigma.pop_back();
    }
    return {leading_columns(svd.v.view(), rank), std::move(svd.sigma), svd.tail2};
}

/// Feature train whose first core is v^T times the R x (I2 R2) matrix `core`.
TensorTrain<double> with_first(const Matrix<double>& v, MatrixView<const double> core, Index size,
                               std::vector<Tensor<double>> rest) {
    auto first = product<double>(v.view(), core, Op::transpose);
    const Index rank = v.cols();
    rest.insert(rest.begin(), Tensor<double>({rank, size, core.cols / size}, std::move(first).release()));
    std::vector<Orthogonality> kinds(rest.size(), Orthogonality::right);
    return TensorTrain<double>(std::move(rest), std::move(kinds));
}

/// The end of a sweep from the last mode to the first: `cores` are those of modes N..3, and V^T becomes that of mode 2.
Merged end_of_sweep(const Rotation& rotation, std::vector<Tensor<double>> cores, Index size, double discarded2) {
    std::ranges::reverse(cores);
    auto first = transpose(rotation.v.view());
    const Index rank = first.rows();
    const Index merged = first.cols() / size;
    cores.insert(cores.begin(), Tensor<double>({rank, size, merged}, std::move(first).release()));
    std::vector<Orthogonality> kinds(cores.size(), Orthogonality::right);
    return {{TensorTrain<double>(std::move(cores), std::move(kinds)), rotation.sigma}, discarded2 + rotation.tail2};
}

/// Row space that stays within the tail allowed at a feature bond.
Basis bond_basis(MatrixView<const double> stacked, double tail2) {
    const double noise = rounding_eps * std::sqrt(squared_norm<double>(stacked));
    return dominant_basis<double>(stacked, Side::right, {.max_tail = std::max(std::sqrt(tail2), noise)});
}

/// Cuts the rows s at the R1 bond for half the budget, then sweeps from the last mode to the first. The spaces cut are
/// nested, so that the squares add up, the last cut of R1 included.
Merged sweep_rows(Matrix<double> s, const Shape& features, const MergeCuts& cuts) {
    double discarded2 = 0;
    if (s.rows() <= s.cols()) {
        const auto basis = dominant_basis<double>(
            s.view(), Side::left, {.max_tail = std::sqrt(std::max(0.0, cuts.budget2) / 2), .max_rank = cuts.max_rank});
        s = product<double>(basis.vectors.view(), s.view(), Op::transpose);
        discarded2 = basis.tail2;
    }
    const Index rows = s.rows();
    std::vector<Tensor<double>> cores;
    Index merged = 1;
    for (Index n = features.order(); n-- > 1;) {
        const Index m = features[n] * merged;
        s.reshape(s.size() / m, m);
        const auto basis = bond_basis(s.view(), cuts.bond_tail2);
        discarded2 += basis.tail2;
        s = product<double>(s.view(), basis.vectors.view());
        const Index rank = basis.vectors.cols();
        cores.emplace_back(Shape{rank, features[n], merged}, transpose(basis.vectors.view()).release());
        merged = rank;
    }
    s.reshape(rows, features[0] * merged);
    const auto rotation = singular_rotation(s.view(), cuts.budget2 - discarded2, cuts);
    return end_of_sweep(rotation, std::move(cores), features[0], discarded2);
}

bool is_left_orthonormal(const TensorTrain<double>& train) {
    for (Index n = 0; n + 1 < train.order(); ++n) {
        if (train.orthogonality(n) != Orthogonality::left) return false;
    }
    return true;
}

/// The stacked cores of trains after a sweep over the modes N..3: S = rows x cores, the cores right-orthonormal.
struct Swept {
    Matrix<double> rows;                ///< of all blocks, over I_2 and the merged rank
    std::vector<Tensor<double>> cores;  ///< of modes N..3
    double discarded2 = 0;
};

Swept sweep_trains(std::span<const FeatureBlock* const> blocks, double bond_tail2) {
    const Shape& features = blocks.front()->features();
    std::vector<TensorTrain<double>> made;
    made.reserve(blocks.size());
    std::vector<const TensorTrain<double>*> trains;
    for (const auto* block : blocks) {
        const bool ready = !block->is_dense() && is_left_orthonormal(block->train());
        if (!ready) made.push_back(block_train(*block));
        trains.push_back(ready ? &block->train() : &made.back());
    }
    // t[k] maps client k's rank at the current bond to the merged rank: r^k x r.
    std::vector<Matrix<double>> t;
    for (std::size_t k = 0; k < trains.size(); ++k) t.push_back(Matrix<double>::identity(1));
    const auto rank_before = [&](std::size_t k, Index n) { return trains[k]->ranks()[static_cast<std::size_t>(n)]; };
    Swept swept;
    Index merged = 1;
    for (Index n = features.order(); n-- > 0;) {
        Index rho = 0;
        for (std::size_t k = 0; k < trains.size(); ++k) rho += rank_before(k, n);
        Matrix<double> stacked(rho, features[n] * merged);
        Index row = 0;
        for (std::size_t k = 0; k < trains.size(); ++k) {
            const Index before = rank_before(k, n);
            multiply<double>(trains[k]->left_unfolding(n), Op::none, t[k].view(), Op::none,
                             {stacked.view().row(row), before * features[n], merged});
            row += before;
        }
        if (n == 0) {
            swept.rows = std::move(stacked);
            break;
        }
        const auto basis = bond_basis(stacked.view(), bond_tail2);
        swept.discarded2 += basis.tail2;
        const auto image = product<double>(stacked.view(), basis.vectors.view());  // rho x r
        row = 0;
        for (std::size_t k = 0; k < trains.size(); ++k) {
            t[k] = Matrix<double>::copy(image.view().rows_from(row, rank_before(k, n)));
            row += t[k].rows();
        }
        const Index rank = basis.vectors.cols();
        swept.cores.emplace_back(Shape{rank, features[n], merged}, transpose(basis.vectors.view()).release());
        merged = rank;
    }
    return swept;
}

/// Rows that span what matters of the rows of s.
struct FewerRows {
    Matrix<double> rows;
    double tail2 = 0;
};

FewerRows fewer_rows(Matrix<double> s, double budget2, Index max_rank) {
    const SvdOptions options{.max_tail = std::sqrt(std::max(0.0, budget2)), .max_rank = max_rank};
    if (options.max_tail == 0 && options.max_rank >= s.rows() && s.rows() <= s.cols()) return {std::move(s), 0};
    if (s.rows() <= s.cols()) {
        const auto basis = dominant_basis<double>(s.view(), Side::left, options);
        return {product<double>(basis.vectors.view(), s.view(), Op::transpose), basis.tail2};
    }
    const auto svd = truncated_svd<double>(s.view(), options);
    auto rows = transpose(svd.v.view());
    for (Index i = 0; i < rows.rows(); ++i) {
        for (Index j = 0; j < rows.cols(); ++j) rows(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    return {std::move(rows), svd.tail2};
}

/// Flops of both routes, with the merged ranks at their upper bounds.
struct Costs {
    double dense = 0;
    double trains = 0;
    double numbers = 0;  ///< of S multiplied out
};

Costs estimate(std::span<const FeatureBlock* const> blocks) {
    const Shape& features = blocks.front()->features();
    const double rows = static_cast<double>(total_rows(blocks));
    double p = 1;
    for (const Index size : features.sizes()) p *= static_cast<double>(size);
    Costs costs;
    costs.numbers = rows * p;
    costs.dense = costs.numbers * std::min(rows, p);
    double merged = 1;
    double right = 1;
    for (Index n = features.order(); n-- > 0;) {
        const double size = static_cast<double>(features[n]);
        double rho = 0;
        double contraction = 0;
        for (const auto* block : blocks) {
            if (block->is_dense()) {
                rho += n == 0 ? static_cast<double>(block->rows()) : right * size;
                continue;
            }
            const auto& ranks = block->train().ranks();
            const double before = static_cast<double>(ranks[static_cast<std::size_t>(n)]);
            const double after = static_cast<double>(ranks[static_cast<std::size_t>(n + 1)]);
            rho += before;
            contraction += 2 * before * size * after * merged;
        }
        const double m = size * merged;
        costs.trains += contraction + rho * m * std::min(rho, m);
        merged = std::min(rho, m);
        right *= size;
    }
    for (const auto* block : blocks) {
        if (block->is_dense()) {
            // block_train(): bases of the last mode, and the rows in them, made orthonormal.
            costs.trains += 4 * static_cast<double>(block->numbers() * features[features.order() - 1]);
            continue;
        }
        const auto& ranks = block->train().ranks();
        costs.dense += 2 * static_cast<double>(block->rows()) * p * static_cast<double>(ranks[ranks.size() - 2]);
    }
    return costs;
}

bool prefer_dense(std::span<const FeatureBlock* const> blocks) {
    // The trains' cost is an upper bound: it takes the merged ranks for as large as they could be. A dense block is
    // dense since its own are.
    const bool full = std::ranges::any_of(blocks, [](const auto* block) { return block->is_dense(); });
    const double bound_excess = full ? 1 : 1.3;
    const Costs costs = estimate(blocks);
    return costs.numbers <= dense_limit && bound_excess * costs.dense <= costs.trains;
}

}  // namespace

TensorTrain<double> block_train(const FeatureBlock& block) {
    if (!block.is_dense()) {
        return is_left_orthonormal(block.train()) ? block.train().clone() : left_orthonormalise(block.train()).train;
    }
    std::vector<Index> sizes(block.features().sizes().begin(), block.features().sizes().end());
    sizes[0] *= block.rows();
    TtSvdOptions options;
    options.eps = rounding_eps;
    auto cores = left_orthonormalise(
                     tt_svd(TensorView<const double>(block.dense().data(), Shape(std::move(sizes))), options).train)
                     .train;
    auto list = std::move(cores).release();
    const Index second = list[0].shape()[2];
    list[0] = Tensor<double>({block.rows(), block.features()[0], second}, std::move(list[0]).release());
    return TensorTrain<double>(std::move(list));
}

Merged merge_dense(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts) {
    require_mergeable(blocks);
    const Shape& features = blocks.front()->features();
    auto s = stacked_rows(blocks);
    // TT-SVD may start from either end; from three feature modes on its squares and those of the cut that follows it
    // would not add up.
    if (features.order() > 2) return sweep_rows(std::move(s), features, cuts);
    const Index rows = s.rows();
    const double norm2 = squared_norm<double>(s.view());
    std::vector<Index> sizes(features.sizes().begin(), features.sizes().end());
    sizes.insert(sizes.begin(), rows);
    TtSvdOptions options;
    const auto relative = [&](double tail2) {
        return norm2 > 0 ? std::min(std::sqrt(std::max(0.0, tail2) / norm2), most_eps) : 0;
    };
    options.bonds.assign(sizes.size() - 1, {relative(cuts.bond_tail2)});
    // Half the budget for a first cut that keeps the sweep small; the rest is spent below.
    options.bonds[0] = {relative(cuts.budget2 / 2), cuts.max_rank};
    auto decomposed = tt_svd(Tensor<double>(Shape(std::move(sizes)), std::move(s).release()), options);
    const auto right = right_orthonormalise(std::move(decomposed.train)).train;
    double discarded2 = decomposed.rel_error * decomposed.rel_error * norm2;
    const auto rotation = singular_rotation(right.left_unfolding(0), cuts.budget2 - discarded2, cuts);
    std::vector<Tensor<double>> rest;
    for (Index n = 2; n < right.order(); ++n) rest.push_back(Tensor<double>::copy(right.core(n)));
    return {{with_first(rotation.v, right.right_unfolding(1), features[0], std::move(rest)), rotation.sigma},
            discarded2 + rotation.tail2};
}

Merged merge_trains(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts) {
    require_mergeable(blocks);
    auto swept = sweep_trains(blocks, cuts.bond_tail2);
    const auto rotation = singular_rotation(swept.rows.view(), cuts.budget2 - swept.discarded2, cuts);
    return end_of_sweep(rotation, std::move(swept.cores), blocks.front()->features()[0], swept.discarded2);
}

Merged merge_blocks(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts) {
    require_mergeable(blocks);
    return prefer_dense(blocks) ? merge_dense(blocks, cuts) : merge_trains(blocks, cuts);
}

CompressedRows compress_rows(std::span<const FeatureBlock* const> blocks, const MergeCuts& cuts) {
    require_mergeable(blocks);
    const Shape features = blocks.front()->features();
    if (prefer_dense(blocks)) {
        auto fewer = fewer_rows(stacked_rows(blocks), cuts.budget2, cuts.max_rank);
        return {FeatureBlock(std::move(fewer.rows), features), fewer.tail2};
    }
    auto swept = sweep_trains(blocks, 0);
    auto fewer = fewer_rows(std::move(swept.rows), cuts.budget2 - swept.discarded2, cuts.max_rank);
    const Index rows = fewer.rows.rows();
    const Index width = fewer.rows.cols() / features[0];
    auto cores = std::move(swept.cores);
    cores.emplace_back(Shape{rows, features[0], width}, std::move(fewer.rows).release());
    std::ranges::reverse(cores);
    auto block = smaller_form(TensorTrain<double>(std::move(cores)));
    if (!block.is_dense()) block = FeatureBlock(left_orthonormalise(block.train()).train);
    return {std::move(block), swept.discarded2 + fewer.tail2};
}

}  // namespace couplet
