#pragma once

#include <functional>

#include "couplet/linalg/products.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// What is kept of rows of `order` numbers: enough for the space that they span, and small however many there are.
/// - gram: A^T A. Cheapest; shows nothing below 1.5e-8 of the largest singular value.
/// - triangle: R with R^T R = A^T A. Exact to rounding, at twice the flops.
class Summary {
  public:
    enum class Kind { gram, triangle };

    /// Of no rows at all.
    Summary(Kind kind, Index order);
    /// Of `terms` rows whose Gram matrix or triangle somebody has computed.
    static Summary of(Kind kind, Matrix<double> matrix, Index terms);

    /// More rows. Throws InputError unless they are `order` long.
    template <Real T>
    void add(MatrixView<const T> rows);
    /// The rows of another summary of the same kind and order, after those of this one; throws InputError otherwise.
    void merge(const Summary& other);

    Kind kind() const { return kind_; }
    Index order() const { return matrix_.cols(); }
    /// Rows so far.
    Index terms() const { return terms_; }
    /// ||A||^2.
    double norm2() const;
    /// The Gram matrix (order x order), or the triangle (at most order rows).
    const Matrix<double>& matrix() const { return matrix_; }
    Matrix<double> release() && { return std::move(matrix_); }

  private:
    Summary(Kind kind, Matrix<double> matrix, Index terms) : kind_(kind), matrix_(std::move(matrix)), terms_(terms) {}

    Kind kind_;
    Matrix<double> matrix_;
    Index terms_ = 0;
};

/// A ~ Q F with orthonormal columns Q, which are at right angles to what is left: ||A - Q F||^2.
struct Polished {
    Matrix<double> factor;  ///< F, r x order
    double residual2 = 0;
};

/// Data seen from one end: a matrix A of `terms` rows, each of `order` numbers, `order` being the side whose space is
/// wanted. Nothing says that it is in memory, dense, or cheap to read twice; each function but the sizes and `polish`
/// reads it once. All results are in double.
class Source {
  public:
    virtual ~Source() = default;

    virtual Index order() const = 0;
    virtual Index terms() const = 0;
    /// Whether the data, and so whatever is projected from it, is rounded to float.
    virtual bool is_float() const = 0;

    virtual Summary summarise(Summary::Kind kind) const = 0;
    virtual double squared_norm() const = 0;

    /// A^T A Q (order x l) up to a positive factor, without forming A^T A.
    virtual Matrix<double> apply_gram(MatrixView<const double> q) const = 0;
    /// The summary of A V, of order V.cols().
    virtual Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const = 0;
    /// ||A - A V V^T||^2 for orthonormal columns V, entry by entry.
    virtual double residual_norm2(const Matrix<double>& v) const = 0;

    /// A Gram matrix shows what is cut no better than 1e-8 of the norm. Where that is nothing, as with data of exactly
    /// low rank, a step of subspace iteration on the data itself, from its r orthonormal columns V, brings the kept
    /// space to rounding, at a fraction of the cost of a triangle; kept singular values below 1e-8 of the largest do
    /// not get there, which the residual tells. Three reads, unless the source can do with less.
    virtual Polished polish(const Matrix<double>& v) const;
};

/// A matrix in memory: its rows as they are (right), or its columns as rows (left). The memory is somebody else's.
template <Real T>
class DenseEnd final : public Source {
  public:
    DenseEnd(MatrixView<const T> a, Side side) : a_(a), side_(side) {}

    Index order() const override { return side_ == Side::right ? a_.cols : a_.rows; }
    Index terms() const override { return side_ == Side::right ? a_.rows : a_.cols; }
    bool is_float() const override { return std::same_as<T, float>; }
    Summary summarise(Summary::Kind kind) const override;
    double squared_norm() const override;
    Matrix<double> apply_gram(MatrixView<const double> q) const override;
    Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const override;
    double residual_norm2(const Matrix<double>& v) const override;
    Polished polish(const Matrix<double>& v) const override;

  private:
    /// A V, in the precision of the data.
    Matrix<T> image(MatrixView<const double> v) const;
    /// Of the sums over blocks of rows, each called by its first row and their number; the same for any threads.
    double sum_over_terms(const std::function<double(Index, Index)>& part) const;
    /// Rows of A (right), or those of its transpose as columns (left).
    Matrix<double> slice(Index first, Index count) const;

    MatrixView<const T> a_;
    Side side_;
};

}  // namespace couplet
