#include "couplet/tt/sparse_source.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/sparse_end.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

/// Blocks of `width` numbers at ascending positions of [0, cells): a tensor of cells * width elements.
struct Blocks {
    std::vector<Index> positions;
    Buffer<double> values;
    Index cells = 0;
    Index width = 1;

    Index count() const { return static_cast<Index>(positions.size()); }
    Index numbers() const { return count() * width; }
    std::span<const double> all() const { return {values.data(), static_cast<std::size_t>(numbers())}; }
    MatrixView<const double> matrix() const { return {values.data(), 1, numbers()}; }
};

/// Groups of the blocks whose positions agree but for the last of `own` places.
struct Grouping {
    std::vector<Index> groups;  ///< position / own of each
    std::vector<Index> starts;
    std::vector<Index> places;
};

Grouping group_by_prefix(const std::vector<Index>& positions, Index own) {
    Grouping result;
    result.places.reserve(positions.size());
    for (const Index position : positions) {
        const Index group = position / own;
        if (result.groups.empty() || result.groups.back() != group) {
            result.groups.push_back(group);
            result.starts.push_back(static_cast<Index>(result.places.size()));
        }
        result.places.push_back(position % own);
    }
    result.starts.push_back(static_cast<Index>(positions.size()));
    return result;
}

/// The same matrix of blocks with its rows and columns exchanged.
Blocks transposed(const Blocks& blocks, Index rows) {
    const Index cols = blocks.cells / rows;
    std::vector<std::size_t> order(blocks.positions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t b) { return blocks.positions[b] % cols; });
    Blocks result{{}, Buffer<double>(blocks.numbers()), blocks.cells, blocks.width};
    result.positions.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Index position = blocks.positions[order[i]];
        result.positions.push_back(position % cols * rows + position / cols);
        std::copy_n(blocks.values.data() + static_cast<Index>(order[i]) * blocks.width, blocks.width,
                    result.values.data() + static_cast<Index>(i) * blocks.width);
    }
    return result;
}

SparseBlocks linked(Grouping grouping, const Blocks& blocks) {
    return {blocks.width, std::move(grouping.starts), std::move(grouping.places), blocks.all()};
}

/// A left end keeps the transposed blocks that it reads.
class LeftEnd final : public Source {
  public:
    LeftEnd(const Blocks& blocks, Index own)
        : blocks_(transposed(blocks, own)),
          grouping_(group_by_prefix(blocks_.positions, own)),
          end_({blocks_.width, grouping_.starts, grouping_.places, blocks_.all()}, own,
               blocks_.cells / own * blocks_.width) {}

    Index order() const override { return end_.order(); }
    Index terms() const override { return end_.terms(); }
    bool is_float() const override { return false; }
    Summary summarise(Summary::Kind kind) const override { return end_.summarise(kind); }
    double squared_norm() const override { return end_.squared_norm(); }
    Matrix<double> apply_gram(MatrixView<const double> q) const override { return end_.apply_gram(q); }
    Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const override {
        return end_.summarise_image(kind, v);
    }
    double residual_norm2(const Matrix<double>& v) const override { return end_.residual_norm2(v); }

    /// V^T A, dense.
    Tensor<double> image(const Matrix<double>& v) const {
        const Index width = blocks_.width;
        const Index count = end_.terms();
        auto result = Tensor<double>::zeros({v.cols(), count});
        constexpr Index step = 4096;
        const Index groups = static_cast<Index>(grouping_.groups.size());
        for (Index first = 0; first < groups; first += step) {
            const Index part = std::min(step, groups - first);
            Matrix<double> rows(part * width, v.cols());
            end_.image(first, part, v.view(), rows.view());
            for (Index g = 0; g < part; ++g) {
                const Index at = grouping_.groups[static_cast<std::size_t>(first + g)] * width;
                for (Index t = 0; t < width; ++t) {
                    for (Index r = 0; r < v.cols(); ++r) result.data()[r * count + at + t] = rows(g * width + t, r);
                }
            }
        }
        return result;
    }

  private:
    Blocks blocks_;
    Grouping grouping_;
    SparseColumns end_;
};

class SparseSource final : public TensorSource<double> {
  public:
    explicit SparseSource(Blocks blocks) : blocks_(std::move(blocks)) {}

    Index size() const override { return blocks_.cells * blocks_.width; }
    bool offers_left(std::size_t modes) const override { return modes <= 2; }

    std::unique_ptr<Source> end(Side side, Index own) const override {
        if (side == Side::left) return std::make_unique<LeftEnd>(blocks_, own);
        const Index places = own / blocks_.width;
        return std::make_unique<SparseRows>(linked(group_by_prefix(blocks_.positions, places), blocks_), own,
                                            size() / own);
    }

    ScaledNorm norm() const override { return scaled_norm(blocks_.matrix()); }
    double max_magnitude() const override { return couplet::max_magnitude(blocks_.matrix()); }
    void require_finite(const Shape& shape, const std::string& where) const override {
        const auto bad = find_non_finite(blocks_.all());
        if (!bad) return;
        const Index cell = blocks_.positions[static_cast<std::size_t>(*bad / blocks_.width)];
        refuse_element(shape, cell * blocks_.width + *bad % blocks_.width, blocks_.values.data()[*bad], where);
    }

    std::unique_ptr<TensorSource<double>> project(Side side, const Matrix<double>& map, const ConsumedSink&) &&
        override {
        if (side == Side::left) return dense_source(LeftEnd(blocks_, map.rows()).image(map));
        Grouping grouping = group_by_prefix(blocks_.positions, map.rows() / blocks_.width);
        std::vector<Index> groups = std::move(grouping.groups);
        const Index count = static_cast<Index>(groups.size());
        const Index cells = size() / map.rows();
        Buffer<double> values(count * map.cols());
        SparseRows(linked(std::move(grouping), blocks_), map.rows(), cells)
            .image(0, count, map.view(), MatrixView<double>(values.data(), count, map.cols()));
        return settled({std::move(groups), std::move(values), cells, map.cols()});
    }

    std::unique_ptr<TensorSource<double>> scale(int exponent) && override {
        scale_by_power(blocks_.values.data(), blocks_.numbers(), exponent, blocks_.values.data());
        return std::make_unique<SparseSource>(std::move(blocks_));
    }

    Tensor<double> take(const Shape& shape) && override {
        auto dense = Tensor<double>::zeros(shape);
        for (Index b = 0; b < blocks_.count(); ++b) {
            std::copy_n(blocks_.values.data() + b * blocks_.width, blocks_.width,
                        dense.data() + blocks_.positions[static_cast<std::size_t>(b)] * blocks_.width);
        }
        return dense;
    }

  private:
    /// Dense where a quarter of the blocks is there: four times the memory at most, for faster kernels.
    static std::unique_ptr<TensorSource<double>> settled(Blocks blocks) {
        auto sparse = std::make_unique<SparseSource>(std::move(blocks));
        if (sparse->blocks_.count() < sparse->blocks_.cells / 4) return sparse;
        const Index size = sparse->size();
        return dense_source(std::move(*sparse).take({size}));
    }

    Blocks blocks_;
};

}  // namespace

std::unique_ptr<TensorSource<double>> sparse_source(const SparseTensor& tensor) {
    Blocks blocks{
        {tensor.offsets().begin(), tensor.offsets().end()}, Buffer<double>(tensor.count()), tensor.shape().size(), 1};
    std::ranges::copy(tensor.values(), blocks.values.data());
    return std::make_unique<SparseSource>(std::move(blocks));
}

}  // namespace couplet
