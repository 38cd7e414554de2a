#include "couplet/ctt/blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {

FeatureBlock::FeatureBlock(Matrix<double> rows, Shape features)
    : features_(std::move(features)), content_(std::move(rows)) {
    if (dense().cols() != features_.size() || dense().rows() < 1) {
        throw InputError({"feature block", std::to_string(dense().rows()) + "x" + std::to_string(dense().cols()),
                          "at least one row of " + std::to_string(features_.size()) + " numbers", ""});
    }
}

FeatureBlock::FeatureBlock(TensorTrain<double> train) : features_(train.shape()), content_(std::move(train)) {}

FeatureBlock FeatureBlock::clone() const {
    FeatureBlock copy =
        is_dense() ? FeatureBlock(Matrix<double>::copy(dense().view()), features_) : FeatureBlock(train().clone());
    copy.code_ = code_;
    return copy;
}

Index FeatureBlock::rows() const noexcept { return is_dense() ? dense().rows() : train().left_rank(); }

Index FeatureBlock::numbers() const {
    if (code_) return code_->numbers();
    return is_dense() ? dense().size() : train().parameters();
}

double FeatureBlock::squared_norm() const {
    if (is_dense()) return couplet::squared_norm<double>(dense().view());
    return couplet::squared_norm(train().core(train().order() - 1).unfold(0));
}

void FeatureBlock::expand(MatrixView<double> target) const {
    const auto copy_from = [&](const double* source) {
        for (Index i = 0; i < rows(); ++i) std::copy_n(source + i * target.cols, target.cols, target.row(i));
    };
    if (is_dense()) {
        copy_from(dense().data());
    } else {
        copy_from(train().full().data());
    }
}

Index Features::numbers() const { return code ? code->numbers() : train.parameters(); }

FeatureBlock smaller_form(TensorTrain<double> train) {
    const Index dense = checked_product(train.left_rank(), train.shape().size());
    if (train.parameters() <= dense) return FeatureBlock(std::move(train));
    const Shape features = train.shape();
    Matrix<double> rows(train.left_rank(), features.size());
    FeatureBlock(std::move(train)).expand(rows.view());
    return FeatureBlock(std::move(rows), features);
}

}  // namespace couplet
