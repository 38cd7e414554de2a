#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/tt/source.hpp"

/// A tensor that is never in memory: a callback hands out its rows (slices of the first mode), a few at a time.
namespace couplet::support {

using RowSink = std::function<void(MatrixView<const double>)>;
/// Gives all rows to the sink, in order, in blocks of any number.
using RowReader = std::function<void(const RowSink&)>;

/// The right end of such a tensor.
class RowEnd final : public Source {
  public:
    RowEnd(RowReader read, Index size, Index own) : read_(std::move(read)), size_(size), own_(own) {}

    Index order() const override { return own_; }
    Index terms() const override { return size_ / own_; }
    bool is_float() const override { return false; }
    Summary summarise(Summary::Kind kind) const override {
        Summary summary(kind, own_);
        each([&](MatrixView<const double> rows) { summary.add(rows); });
        return summary;
    }
    double squared_norm() const override {
        double total = 0;
        each([&](MatrixView<const double> rows) { total += couplet::squared_norm(rows); });
        return total;
    }
    Matrix<double> apply_gram(MatrixView<const double> q) const override {
        auto result = Matrix<double>::zeros(own_, q.cols);
        each([&](MatrixView<const double> rows) {
            const auto image = product<double>(rows, q);
            multiply<double>(rows, Op::transpose, image.view(), Op::none, result.view(), 1.0, 1.0);
        });
        return result;
    }
    Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const override {
        Summary summary(kind, v.cols());
        each([&](MatrixView<const double> rows) {
            const auto image = product<double>(rows, v.view());
            summary.add<double>(image.view());
        });
        return summary;
    }
    double residual_norm2(const Matrix<double>& v) const override {
        double total = 0;
        each([&](MatrixView<const double> rows) { total += DenseEnd<double>(rows, Side::right).residual_norm2(v); });
        return total;
    }

  private:
    void each(const RowSink& sink) const {
        read_([&](MatrixView<const double> rows) { sink({rows.data, rows.size() / own_, own_}); });
    }
    RowReader read_;
    Index size_;
    Index own_;
};

class RowTensor final : public TensorSource<double> {
  public:
    RowTensor(RowReader read, Index size) : read_(std::move(read)), size_(size) {}

    Index size() const override { return size_; }
    bool offers_left(std::size_t) const override { return false; }
    std::unique_ptr<Source> end(Side side, Index own) const override {
        if (side == Side::left) throw RunError({"rows", "the left end", "the right one", ""});
        return std::make_unique<RowEnd>(read_, size_, own);
    }
    ScaledNorm norm() const override {
        // Rows of tests are of ordinary size.
        return {RowEnd(read_, size_, 1).squared_norm(), 0};
    }
    double max_magnitude() const override {
        double largest = 0;
        read_([&](MatrixView<const double> rows) { largest = std::max(largest, couplet::max_magnitude(rows)); });
        return largest;
    }
    void require_finite(const Shape& shape, const std::string& where) const override {
        couplet::require_finite(TensorView<const double>(gather().data(), shape), where);
    }
    std::unique_ptr<TensorSource<double>> project(Side, const Matrix<double>& map, const ConsumedSink&) && override {
        const Index rows_in_all = size_ / map.rows();
        Tensor<double> image({rows_in_all, map.cols()});
        Index done = 0;
        read_([&](MatrixView<const double> block) {
            const MatrixView<const double> rows(block.data, block.size() / map.rows(), map.rows());
            const MatrixView<double> out(image.data() + done * map.cols(), rows.rows, map.cols());
            multiply<double>(rows, Op::none, map.view(), Op::none, out);
            done += rows.rows;
        });
        return dense_source(std::move(image));
    }
    std::unique_ptr<TensorSource<double>> scale(int exponent) && override {
        auto all = gather();
        scale_by_power(all.data(), all.size(), exponent, all.data());
        return dense_source(std::move(all));
    }
    Tensor<double> take(const Shape& shape) && override { return Tensor<double>(shape, std::move(gather()).release()); }

  private:
    Tensor<double> gather() const {
        Tensor<double> all({size_});
        Index done = 0;
        read_([&](MatrixView<const double> block) {
            std::copy_n(block.data, block.size(), all.data() + done);
            done += block.size();
        });
        return all;
    }
    RowReader read_;
    Index size_;
};

}  // namespace couplet::support
