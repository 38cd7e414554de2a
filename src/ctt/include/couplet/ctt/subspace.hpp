#pragma once

#include <optional>
#include <span>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/job.hpp"

namespace couplet {

/// The common row space from sums over clients (section 4): Y_t = sum_k X_k^T (X_k Q_{t-1}) for a few passes, then the
/// Gram matrix on the Krylov space they span; or one sum, the Gram matrix itself. Whoever holds the sums (a
/// coordinator, or each peer after consensus) runs one of these; clients answer its requests with sketch_sum and
/// projected_gram.
class SubspaceIteration {
  public:
    /// What the next sum must be of.
    enum class Want { sketch, gram, projected, nothing };

    SubspaceIteration(const Job& job, Shape features);

    Want want() const noexcept { return want_; }
    /// Q_{t-1} for a sketch, F for a projected Gram matrix, empty otherwise. The first comes from the seed alone.
    const Matrix<double>& basis() const noexcept { return basis_; }
    /// The columns of the basis of a projected Gram matrix that are in no basis before it: krylov_space() of all bases
    /// that were wanted after the first, and of these at the end, is that basis.
    const Matrix<double>& newest() const noexcept { return newest_; }
    /// Numbers in the wanted sum.
    Index sum_length() const noexcept;
    /// Sums still to come, this one included.
    Index sums_left() const noexcept;
    /// Takes the wanted sum over all clients and moves on. `deviation`: standard deviation of what each of its numbers
    /// may be off by beyond the rounding of doubles, as by the step of a fixed point; directions that cannot be told
    /// from it are no features.
    void take(std::span<const double> sum, double deviation = 0);
    /// Moves on without the sum, for a party that is told the next basis or the features by another.
    void skip();
    /// Replaces the basis by somebody else's, so that all parties go on from the same bits. Throws InputError unless it
    /// fits.
    void agree(MatrixView<const double> basis);
    /// Once nothing is wanted: the sum of squares of all rows that the last sum has, whatever noise was in it, and how
    /// many numbers it is the sum of.
    double squares() const noexcept { return squares_; }
    Index squares_of() const noexcept { return squares_of_; }
    /// The result once nothing is wanted.
    const Features& features() const { return *features_; }

  private:
    void take_sketch(std::span<const double> sum);
    void finish(const Matrix<double>& space, std::span<const double> upper_triangle, double deviation);

    Job job_;
    Shape shape_;
    Index rank_;
    Want want_;
    int passes_left_;
    Matrix<double> basis_;
    Matrix<double> newest_;
    std::vector<Matrix<double>> blocks_;
    double squares_ = 0;
    Index squares_of_ = 0;
    std::optional<Features> features_;
};

/// Orthonormal basis of what blocks of orthonormal columns span together, the last of them first; in as many dimensions
/// as there are at most.
Matrix<double> krylov_space(std::span<const Matrix<double>> blocks);

/// Shared cores from weighted rows W (R1 x P): TT-SVD with eps2 over the feature bonds, R1 untouched.
TensorTrain<double> decompose_rows(const Matrix<double>& w, const Shape& features, double eps2);

}  // namespace couplet
