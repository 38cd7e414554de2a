#pragma once

#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

struct BlockCode;

/// Rows over the feature modes, R x (I2 ... IN): D_k of a client, or a merged state. Held as a train with open left
/// bond (left-orthonormal cores, the norm in the last) or dense, whichever is smaller.
class FeatureBlock {
  public:
    /// Throws InputError unless the matrix has features.size() columns.
    FeatureBlock(Matrix<double> rows, Shape features);
    explicit FeatureBlock(TensorTrain<double> train);

    Index rows() const noexcept;
    const Shape& features() const noexcept { return features_; }
    bool is_dense() const noexcept { return std::holds_alternative<Matrix<double>>(content_); }
    const Matrix<double>& dense() const { return std::get<Matrix<double>>(content_); }
    const TensorTrain<double>& train() const { return std::get<TensorTrain<double>>(content_); }
    FeatureBlock clone() const;
    /// Numbers that travel.
    Index numbers() const;
    /// How the block travels; none: as 64-bit numbers. The rows are then what the code decodes to.
    const std::shared_ptr<const BlockCode>& code() const noexcept { return code_; }
    void set_code(std::shared_ptr<const BlockCode> code) { code_ = std::move(code); }
    /// Of all rows together. Trains are left-orthonormal here, with the norm in the last core.
    double squared_norm() const;
    /// The rows multiplied out, written to `target` (rows() x features().size()).
    void expand(MatrixView<double> target) const;

  private:
    Shape features_;
    std::variant<TensorTrain<double>, Matrix<double>> content_;
    std::shared_ptr<const BlockCode> code_;
};

/// The train itself, or its rows multiplied out where that is fewer numbers.
FeatureBlock smaller_form(TensorTrain<double> train);

/// The shared result: right-orthonormal feature cores with open left bond R1, ordered by importance.
struct Features {
    TensorTrain<double> train;
    std::vector<double> sigma;  ///< weight of each of the R1 directions, descending; empty when not orthonormal
    bool orthonormal = true;    ///< false for the printed average without refit: cores carry the weights themselves
    std::shared_ptr<const BlockCode> code = {};  ///< what travels and decodes to these; none: 64-bit numbers

    /// Numbers that travel, weights not counted.
    Index numbers() const;
    Features clone() const { return {train.clone(), sigma, orthonormal, code}; }
};

}  // namespace couplet
