#pragma once

#include <span>
#include <vector>

#include "couplet/linalg/source.hpp"

namespace couplet {

/// Numbers of a sparse matrix in blocks of `width`, group after group. A group and a place within it are a row and a
/// block of columns, or the other way round, as the end that reads them says. Everything that is not in a block is 0.
struct SparseBlocks {
    Index width = 1;
    std::vector<Index> starts = {0};  ///< of each group that has a block among the blocks, and the end
    std::vector<Index> places;        ///< of each block within its group, ascending
    std::span<const double> values;   ///< width numbers a block; somebody else's memory

    Index groups() const { return static_cast<Index>(starts.size()) - 1; }
    Index first(Index group) const { return starts[static_cast<std::size_t>(group)]; }
    Index last(Index group) const { return first(group + 1); }
    Index place(Index block) const { return places[static_cast<std::size_t>(block)]; }
    const double* block(Index b) const { return values.data() + b * width; }
};

/// One end of a sparse matrix. Cost: that of the numbers stored, times the columns they are multiplied by; only a
/// triangle and a residual form dense rows, a few at a time. Bit-identical for every thread count.
class SparseEnd : public Source {
  public:
    Index order() const final { return order_; }
    Index terms() const final { return terms_; }
    bool is_float() const final { return false; }
    Summary summarise(Summary::Kind kind) const final;
    double squared_norm() const final;
    Matrix<double> apply_gram(MatrixView<const double> q) const final;
    Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const final;
    double residual_norm2(const Matrix<double>& v) const final;

    /// The rows of A V of groups [first, first + count), rows_per_group() of them each, in `out`.
    void image(Index first, Index count, MatrixView<const double> v, MatrixView<double> out) const;
    virtual Index rows_per_group() const = 0;

  protected:
    SparseEnd(SparseBlocks blocks, Index order, Index terms)
        : blocks_(std::move(blocks)), order_(order), terms_(terms) {}
    const SparseBlocks& blocks() const { return blocks_; }

  private:
    /// Adds the second moments of a group to the upper triangle of `gram`.
    virtual void add_gram(Index group, Matrix<double>& gram) const = 0;
    /// out = the rows of a group times V.
    virtual void multiply_group(Index group, MatrixView<const double> v, double* out) const = 0;
    /// y += the rows of a group, transposed, times z.
    virtual void add_back(Index group, MatrixView<const double> z, MatrixView<double> y) const = 0;
    /// The rows of a group in `out`, which is zero.
    virtual void densify(Index group, MatrixView<double> out) const = 0;

    SparseBlocks blocks_;
    Index order_;
    Index terms_;
};

/// Groups are rows; a block at place q stands in columns [q width, (q + 1) width), and columns are the order.
class SparseRows final : public SparseEnd {
  public:
    SparseRows(SparseBlocks blocks, Index order, Index terms) : SparseEnd(std::move(blocks), order, terms) {}
    Index rows_per_group() const override { return 1; }

  private:
    void add_gram(Index group, Matrix<double>& gram) const override;
    void multiply_group(Index group, MatrixView<const double> v, double* out) const override;
    void add_back(Index group, MatrixView<const double> z, MatrixView<double> y) const override;
    void densify(Index group, MatrixView<double> out) const override;
};

/// Groups are `width` columns, which are the terms; a block at place i stands in row i of them, and rows are the order.
class SparseColumns final : public SparseEnd {
  public:
    SparseColumns(SparseBlocks blocks, Index order, Index terms) : SparseEnd(std::move(blocks), order, terms) {}
    Index rows_per_group() const override { return blocks().width; }

  private:
    void add_gram(Index group, Matrix<double>& gram) const override;
    void multiply_group(Index group, MatrixView<const double> v, double* out) const override;
    void add_back(Index group, MatrixView<const double> z, MatrixView<double> y) const override;
    void densify(Index group, MatrixView<double> out) const override;
};

}  // namespace couplet
