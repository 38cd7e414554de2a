#include "couplet/ctt/known_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/operations.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

// Noise in a direction is amplified by the inverse: at most a thousandfold beyond the mean direction.
constexpr double least_pivot = 1e-3;

enum class Knowledge { enough, little, none };

/// Cholesky in the lower triangle of h; false, and h spoilt, when a pivot is at most `limit`.
bool factor(Matrix<double>& h, double limit) {
    const Index n = h.rows();
    for (Index j = 0; j < n; ++j) {
        double pivot = h(j, j);
        for (Index k = 0; k < j; ++k) pivot -= h(j, k) * h(j, k);
        if (!(pivot > limit)) return false;
        h(j, j) = std::sqrt(pivot);
        for (Index i = j + 1; i < n; ++i) {
            double sum = h(i, j);
            for (Index k = 0; k < j; ++k) sum -= h(i, k) * h(j, k);
            h(i, j) = sum / h(j, j);
        }
    }
    return true;
}

/// Solves L L^T g = b in place.
void substitute(const Matrix<double>& l, double* b) {
    const Index n = l.rows();
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < i; ++k) b[i] -= l(i, k) * b[k];
        b[i] /= l(i, i);
    }
    for (Index i = n - 1; i >= 0; --i) {
        for (Index k = i + 1; k < n; ++k) b[i] -= l(k, i) * b[k];
        b[i] /= l(i, i);
    }
}

/// The solution of minimum norm over the eigenvectors above `limit`, in place of b.
void solve_loosely(const Matrix<double>& h, double limit, double* b) {
    const auto eigen = symmetric_eigen(h.view());
    const Index n = h.rows();
    std::vector<double> g(static_cast<std::size_t>(n), 0.0);
    for (Index j = 0; j < n; ++j) {
        const double value = eigen.values[static_cast<std::size_t>(j)];
        if (!(value > limit)) break;
        double part = 0;
        for (Index i = 0; i < n; ++i) part += eigen.vectors(i, j) * b[i];
        for (Index i = 0; i < n; ++i) g[static_cast<std::size_t>(i)] += eigen.vectors(i, j) * (part / value);
    }
    std::copy(g.begin(), g.end(), b);
}

/// One row at a time, with what all rows share.
class RowFit {
  public:
    RowFit(MatrixView<const double> w, const ColumnPull* pull)
        : columns_(transpose(w)), pull_(pull != nullptr && pull->weight > 0 ? pull : nullptr) {
        if (pull_ == nullptr) return;
        auto drawn = Matrix<double>::copy(columns_.view());
        for (Index j = 0; j < w.cols; ++j) {
            if (pull_->known[static_cast<std::size_t>(j)] == 0) std::fill_n(drawn.view().row(j), w.rows, 0.0);
        }
        everywhere_ = gram<double>(drawn.view(), Side::right);
        const MatrixView<const double> means(pull_->means.data(), 1, w.cols);
        towards_ = product<double>(means, drawn.view());
    }

    /// Fits one row of P entries; error2 and norm2 are of those it knows.
    Knowledge fit(const double* x, double* g, double& norm2, double& error2) const {
        const Index rank = columns_.cols();
        std::vector<Index> known;
        for (Index j = 0; j < columns_.rows(); ++j) {
            if (!std::isnan(x[j])) known.push_back(j);
        }
        std::fill_n(g, rank, 0.0);
        norm2 = error2 = 0;
        if (known.empty()) return Knowledge::none;
        const auto count = static_cast<Index>(known.size());
        Matrix<double> a(count, rank);
        Matrix<double> y(1, count);
        const double weight = pull_ != nullptr ? pull_->weight : 0;
        for (Index i = 0; i < count; ++i) {
            const Index j = known[static_cast<std::size_t>(i)];
            std::copy_n(columns_.view().row(j), rank, a.view().row(i));
            y(0, i) = x[j];
            // The pull is on what is not known: what it does to all columns is taken back here.
            if (weight > 0) y(0, i) -= weight * pull_->means[static_cast<std::size_t>(j)];
        }
        Matrix<double> h = gram<double>(a.view(), Side::right);
        MatrixView<double> b(g, 1, rank);
        multiply<double>(y.view(), Op::none, a.view(), Op::none, b);
        if (weight > 0) {
            for (Index i = 0; i < h.size(); ++i) {
                h.data()[i] = (1 - weight) * h.data()[i] + weight * everywhere_.data()[i];
            }
            for (Index r = 0; r < rank; ++r) g[r] += weight * towards_(0, r);
        }
        const bool enough = solve(std::move(h), g);
        for (Index i = 0; i < count; ++i) {
            const double value = x[known[static_cast<std::size_t>(i)]];
            double error = value;
            for (Index r = 0; r < rank; ++r) error -= a(i, r) * g[r];
            norm2 += value * value;
            error2 += error * error;
        }
        const auto m = static_cast<double>(count);
        const auto r = static_cast<double>(rank);
        count_operations(4 * m * r + r * r * r / 3);
        return enough ? Knowledge::enough : Knowledge::little;
    }

  private:
    static bool solve(Matrix<double> h, double* b) {
        const double limit = least_pivot * trace(h.view()) / static_cast<double>(h.rows());
        auto l = Matrix<double>::copy(h.view());
        if (factor(l, limit)) {
            substitute(l, b);
            return true;
        }
        solve_loosely(h, limit, b);
        return false;
    }

    Matrix<double> columns_;  ///< W^T, so that a column of W is contiguous
    const ColumnPull* pull_;
    Matrix<double> everywhere_;  ///< sum of w w^T over the columns that draw
    Matrix<double> towards_;     ///< sum of their means times w
};

}  // namespace

KnownFit fit_known(MatrixView<const double> x, MatrixView<const double> w, const ColumnPull* pull) {
    const RowFit rows(w, pull);
    KnownFit fit;
    fit.personal = Matrix<double>(x.rows, w.rows);
    const auto count = static_cast<std::size_t>(x.rows);
    std::vector<Knowledge> knowledge(count);
    std::vector<double> norm2(count);
    std::vector<double> error2(count);
    parallel_for(x.rows, [&](Index i) {
        const auto at = static_cast<std::size_t>(i);
        knowledge[at] = rows.fit(x.row(i), fit.personal.view().row(i), norm2[at], error2[at]);
    });
    for (std::size_t i = 0; i < count; ++i) {
        fit.norm2 += norm2[i];
        fit.error2 += error2[i];
        if (knowledge[i] == Knowledge::little) fit.loose.push_back(static_cast<Index>(i));
        if (knowledge[i] == Knowledge::none) fit.unknown.push_back(static_cast<Index>(i));
    }
    return fit;
}

}  // namespace couplet
