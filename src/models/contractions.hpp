#pragma once

#include <vector>

#include "couplet/tensor/tensor.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// Products of a tensor train (R_0 = R_N = 1) with the columns of one factor per mode, as alternating least squares
/// needs them: one backward pass, then for each mode in order its matricised product and a step forward. Cost of a
/// round: 4 R sum_n r_{n-1} I_n r_n flops; nothing larger than a core times R / r_n is formed. Fixed order of
/// operations.
class Contractions {
  public:
    explicit Contractions(const std::vector<Tensor<double>>& cores) : cores_(cores) {}

    /// From the last mode to the first, with these factors (I_n x R).
    void backward(const std::vector<Matrix<double>>& factors);
    /// The n-th unfolding times the Khatri-Rao product of the other factors, I_n x R: of those before n as they were in
    /// forward(), of those behind as they were in backward().
    Matrix<double> product(std::size_t n) const;
    /// Mode n is done with this factor.
    void forward(std::size_t n, const Matrix<double>& factor);

  private:
    const std::vector<Tensor<double>>& cores_;
    std::vector<Matrix<double>> open_;  ///< r_{n-1} I_n x R: what is right of mode n contracted
    Matrix<double> left_;               ///< r_{n-1} x R: what is left of the current mode contracted
};

/// Inner products of the rows of two trains with open left bonds and the same modes.
Matrix<double> inner_products(const TensorTrain<double>& a, const TensorTrain<double>& b);

/// The products of the columns' inner products over all factors but `skipped` (none: -1), R x R.
Matrix<double> gram_product(const std::vector<Matrix<double>>& factors, Index skipped);

}  // namespace couplet
