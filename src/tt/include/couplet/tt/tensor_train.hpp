#pragma once

#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What is known of a core seen as a matrix: left = columns of its (R_{n-1} I_n) x R_n unfolding are
/// orthonormal, right = rows of its R_{n-1} x (I_n R_n) unfolding are.
enum class Orthogonality { none, left, right };

/// Tensor train: X(i_1, ..., i_N) = G_1(i_1) ... G_N(i_N), core n a tensor of shape R_{n-1} x I_n x R_n, R_N
/// = 1.
///
/// R_0 is 1 for the train of a tensor. A train with R_0 > 1 has an open left bond: it stands for R_0 tensors
/// at once, such as the feature cores that all clients of a federation share. The constructor checks that
/// neighbouring ranks agree and throws InputError otherwise; cores are then fixed, so the class can promise
/// consistent shapes. Modes are counted from 0 in the interface.
template <Real T>
class TensorTrain {
  public:
    /// An order-1 train of one zero.
    TensorTrain();
    /// Each core has three modes. `orthogonality` is empty (nothing known) or one entry per core.
    explicit TensorTrain(std::vector<Tensor<T>> cores, std::vector<Orthogonality> orthogonality = {});

    Index order() const noexcept { return static_cast<Index>(cores_.size()); }
    /// Mode sizes I_1, ..., I_N.
    const Shape& shape() const noexcept { return shape_; }
    /// R_0, ..., R_N.
    const std::vector<Index>& ranks() const noexcept { return ranks_; }
    Index left_rank() const noexcept { return ranks_.front(); }
    TensorView<const T> core(Index n) const { return cores_[static_cast<std::size_t>(n)].view(); }
    /// Core n as the (R_{n-1} I_n) x R_n matrix.
    MatrixView<const T> left_unfolding(Index n) const;
    /// Core n as the R_{n-1} x (I_n R_n) matrix.
    MatrixView<const T> right_unfolding(Index n) const;
    Orthogonality orthogonality(Index n) const { return orthogonality_[static_cast<std::size_t>(n)]; }
    /// Numbers stored in all cores.
    Index parameters() const noexcept;

    /// Entry with these indices (counted from 0), for R_0 = 1. Cost: the sum of R_{n-1} R_n. Throws InputError for one
    /// beyond the largest number.
    T at(std::span<const Index> indices) const;
    /// The tensor itself; with an open left bond the R_0 index comes first as a mode of its own.
    /// Throws InputError when it would not fit in 64-bit sizes, when an entry is beyond the largest number, and when
    /// all of them vanish although the train is not zero. Products on the way may be of any magnitude.
    Tensor<T> full() const;

    const Labels& labels() const noexcept { return labels_; }
    /// Labels for modes 1..N; throws InputError when they do not fit.
    void set_labels(Labels labels);

    /// Trains move; a copy is asked for.
    TensorTrain clone() const;
    /// Hands the cores over; the train is left as the default one.
    std::vector<Tensor<T>> release() &&;

  private:
    std::vector<Tensor<T>> cores_;
    std::vector<Orthogonality> orthogonality_;
    std::vector<Index> ranks_;
    Shape shape_;
    Labels labels_;
};

}  // namespace couplet
