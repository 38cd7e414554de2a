#include "lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tensor/partition.hpp"
#include "thin.hpp"

namespace couplet {
namespace {

constexpr Index block = thin_columns;

/// A thin matrix.
Matrix<double> thin(Index rows) { return {rows, block}; }

/// Columns after which the iteration has settled on most spectra that decay.
Index first_look(Index count) { return (2 * count + 40) / block * block; }

/// Upper R with G = R^T R for the Gram matrix of a block. Returns the least part of the squared length of a column that
/// lies outside those before it; 0 where that is nothing but rounding, and R is not complete.
double factor_gram(const Matrix<double>& g, Matrix<double>& r) {
    constexpr double rounding = 1e-9;
    double least = 1;
    for (Index i = 0; i < block; ++i) {
        std::fill_n(r.view().row(i), i, 0.0);
        for (Index j = i; j < block; ++j) {
            double sum = g(i, j);
            for (Index k = 0; k < i; ++k) sum -= r(k, i) * r(k, j);
            if (j > i) {
                r(i, j) = sum / r(i, i);
                continue;
            }
            if (!(g(i, i) > 1e-280) || !(g(i, i) < 1e280) || !(sum > rounding * g(i, i))) return 0;
            least = std::min(least, sum / g(i, i));
            r(i, i) = std::sqrt(sum);
        }
    }
    return least;
}

Matrix<double> inverse_of_upper(const Matrix<double>& r) {
    auto inverse = Matrix<double>::zeros(block, block);
    for (Index j = 0; j < block; ++j) {
        inverse(j, j) = 1 / r(j, j);
        for (Index i = j; i-- > 0;) {
            double sum = 0;
            for (Index k = i + 1; k <= j; ++k) sum += r(i, k) * inverse(k, j);
            inverse(i, j) = -sum / r(i, i);
        }
    }
    return inverse;
}

/// Y R^-1.
Matrix<double> times_inverse(const Matrix<double>& y, const Matrix<double>& r) {
    const auto inverse = inverse_of_upper(r);
    auto q = thin(y.rows());
    thin_product({y.data(), 1, block}, y.rows(), block, inverse.data(), q.data());
    return q;
}

double smallest_diagonal(const Matrix<double>& r) {
    double least = r(0, 0);
    for (Index j = 1; j < r.rows(); ++j) least = std::min(least, r(j, j));
    return least;
}

/// Orthonormal columns F and H = F^T A F, grown by blocks, with A F = F H + Q R E^T: Q is the block that comes next, E
/// the last columns of the identity. Rows of A and of F are shared out in parts that depend on the order alone; what
/// they give for sums is added in their order.
class Space {
  public:
    Space(MatrixView<const double> a, Index most)
        : a_(a),
          parts_(Partition::even(a.rows, a.rows / 128, block)),
          f_(most, odd_lines(a.rows)),
          h_(Matrix<double>::zeros(most, most)),
          next_(thin(a.rows)),
          residual_(block, block) {
        for (Index p = 0; p < parts_.count(); ++p) partial_.push_back(thin(most));
    }

    Index cols() const { return cols_; }

    /// The next block is random, at right angles to the space.
    void start(std::uint64_t seed) {
        Random random(seed, 0x6c616e637a6f73);
        for (Index i = 0; i < next_.size(); ++i) next_.data()[i] = random.uniform() - 0.5;
        orthonormalise_columns(next_.view());
        if (cols_ > 0) repair(next_);
    }

    /// Adds the block that is next, and makes the one after it from its image. False when nothing is left outside the
    /// space.
    bool grow() {
        const Index at = cols_;
        cols_ += block;
        for (Index i = 0; i < a_.rows; ++i) {
            for (Index j = 0; j < block; ++j) f_(at + j, i) = next_(i, j);
        }
        auto y = thin(a_.rows);
        // But for rounding, an image has parts along its own block and the one before it alone.
        const Index near = std::max<Index>(0, at - block);
        parallel_for(parts_.count(), [&](Index p) {
            thin_product({a_.row(parts_.begin(p)), 1, a_.stride}, parts_.length(p), a_.cols, next_.data(), rows(y, p));
            find_parts(y, near, p);
        });
        const auto large = sum_of_parts(cols_ - near);
        parallel_for(parts_.count(), [&](Index p) {
            subtract_parts(large, near, y, p);
            find_parts(y, 0, p);
        });
        const auto small = sum_of_parts(cols_);
        parallel_for(parts_.count(), [&](Index p) {
            subtract_parts(small, 0, y, p);
            thin_product({rows(y, p), block, 1}, block, parts_.length(p), rows(y, p), partial(p));
        });
        add_to_h(large, near, at);
        add_to_h(small, 0, at);
        return normalise(std::move(y),
                         std::max(max_magnitude<double>(large.view()), max_magnitude<double>(small.view())));
    }

    /// The leading eigenpairs of rows and columns [first, cols) of H.
    SymmetricEigen ritz(Index first, Index count) const {
        const Index size = cols_ - first;
        return symmetric_eigen({h_.view().row(first) + first, size, size, h_.cols()}, std::min(count, size));
    }

    /// ||A F s - theta F s||^2 of each column s of an eigenvector matrix of H.
    std::vector<double> squared_residuals(const Matrix<double>& s) const {
        const auto outside = product<double>(residual_.view(), s.view().rows_from(cols_ - block, block));
        std::vector<double> result(static_cast<std::size_t>(s.cols()), 0.0);
        for (Index i = 0; i < outside.rows(); ++i) {
            for (Index j = 0; j < outside.cols(); ++j) {
                result[static_cast<std::size_t>(j)] += outside(i, j) * outside(i, j);
            }
        }
        return result;
    }

    /// trace(C)^2 / ||C||^2 of what A is outside the space, its effective rank, from the sums of A; 0 where rounding
    /// hides it.
    double effective_rank_outside(double trace_of_a, double squares_of_a) const {
        const MatrixView<const double> h(h_.data(), cols_, cols_, h_.cols());
        const double sum = trace_of_a - trace(h);
        const double squares = squares_of_a - squared_norm(h) - 2 * squared_norm<double>(residual_.view());
        constexpr double hidden = 1e-12;
        return squares > hidden * squares_of_a ? sum * sum / squares : 0;
    }

    /// F s for the columns of F that s has rows for.
    Matrix<double> vectors(MatrixView<const double> s) const {
        return product<double>(MatrixView<const double>(f_.data(), s.rows, a_.rows, f_.cols()), s, Op::transpose);
    }

  private:
    /// Rows of F that are a power of two apart would fight for the same lines of the cache.
    static Index odd_lines(Index n) {
        const Index lines = (n + block - 1) / block;
        return block * (lines + (lines % 2 == 0 ? 1 : 0));
    }

    double* rows(Matrix<double>& y, Index p) const { return y.view().row(parts_.begin(p)); }
    double* partial(Index p) { return partial_[static_cast<std::size_t>(p)].data(); }

    /// What part p of y adds to the coefficients along columns [first, cols) of F.
    void find_parts(Matrix<double>& y, Index first, Index p) {
        thin_product({f_.view().row(first) + parts_.begin(p), 1, f_.cols()}, cols_ - first, parts_.length(p),
                     rows(y, p), partial(p));
    }
    void subtract_parts(const Matrix<double>& coefficients, Index first, Matrix<double>& y, Index p) {
        subtract_thin({f_.view().row(first) + parts_.begin(p), f_.cols(), 1}, parts_.length(p), coefficients.rows(),
                      coefficients.data(), rows(y, p));
    }
    Matrix<double> sum_of_parts(Index count) {
        auto sum = thin(count);
        std::copy_n(partial(0), sum.size(), sum.data());
        for (Index p = 1; p < parts_.count(); ++p) {
            const double* more = partial(p);
            for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += more[i];
        }
        return sum;
    }

    /// Adds coefficients to rows from `first` on of the block of H that begins at `at`, and to their mirror image.
    void add_to_h(const Matrix<double>& coefficients, Index first, Index at) {
        for (Index i = 0; i < coefficients.rows(); ++i) {
            for (Index j = 0; j < block; ++j) {
                h_(first + i, at + j) += coefficients(i, j);
                if (first + i < at) h_(at + j, first + i) = h_(first + i, at + j);
            }
        }
    }

    /// y, whose Gram matrix is in the parts, becomes the next block; `size` is that of what was taken out of it.
    bool normalise(Matrix<double> y, double size) {
        // What little is left of an image has its rounding magnified.
        constexpr double little = 0.05;
        const double apart = factor_gram(sum_of_parts(block), residual_);
        if (apart > 0 && smallest_diagonal(residual_) > little * size) {
            next_ = times_inverse(y, residual_);
            // One pass leaves rounding over this, a second one what is left of columns that are nearly orthonormal.
            constexpr double well_apart = 0.25;
            if (apart > well_apart) return true;
            Matrix<double> r(block, block);
            thin_product({next_.data(), block, 1}, block, next_.rows(), next_.data(), partial(0));
            Matrix<double> g(block, block);
            std::copy_n(partial(0), g.size(), g.data());
            if (factor_gram(g, r) > well_apart) {
                next_ = times_inverse(next_, r);
                residual_ = product<double>(r.view(), residual_.view());
                return true;
            }
        }
        residual_ = orthonormalise_columns(y.view());
        next_ = std::move(y);
        return repair(next_);
    }

    /// Columns at right angles to the space again; false when some of them lie in it.
    bool repair(Matrix<double>& y) {
        constexpr double kept = 0.5;
        constexpr int attempts = 4;
        for (int attempt = 0; attempt < attempts; ++attempt) {
            parallel_for(parts_.count(), [&](Index p) { find_parts(y, 0, p); });
            const auto coefficients = sum_of_parts(cols_);
            parallel_for(parts_.count(), [&](Index p) { subtract_parts(coefficients, 0, y, p); });
            if (smallest_diagonal(orthonormalise_columns(y.view())) > kept) return true;
        }
        return false;
    }

    MatrixView<const double> a_;
    Partition parts_;
    Index cols_ = 0;
    Matrix<double> f_;  ///< transposed: a row for each column
    Matrix<double> h_;
    Matrix<double> next_;      ///< Q
    Matrix<double> residual_;  ///< R
    std::vector<Matrix<double>> partial_;
};

/// Whether a matrix of this order and effective rank has a spectrum like that of noise, which has 0.5 of the order or
/// more; what is left of real data beside its strongest directions has 0.3 or less.
bool is_flat(double effective_rank, Index order) { return effective_rank > 0.4 * static_cast<double>(order); }

/// What the leading eigenvalues may gain outside the space at most, by their residuals: ||r||^2 over the distance to
/// the first that is not wanted, or ||r|| where that is less.
double possible_gain(const SymmetricEigen& ritz, const std::vector<double>& residuals2, Index count) {
    double gain = 0;
    for (Index i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double distance = ritz.values[at] - ritz.values[static_cast<std::size_t>(count)];
        if (residuals2[at] > 0) gain += residuals2[at] / std::max(distance, std::sqrt(residuals2[at]));
    }
    return gain;
}

/// Whether as many of the leading values as a block has columns are the same: a start reaches no more copies of an
/// eigenvalue than that, however many there are, and no residual tells. Values that are nearly the same are not told
/// apart before they have settled, and those within `rounding` are nothing.
bool may_have_more_copies(const std::vector<double>& values, Index count, double rounding) {
    constexpr double same = 1e-3;
    for (Index i = 0; i + block <= count; ++i) {
        const double first = values[static_cast<std::size_t>(i)];
        const double last = values[static_cast<std::size_t>(i + block - 1)];
        if (first > rounding && first - last <= same * first) return true;
    }
    return false;
}

/// Steps of the second start.
constexpr int second_steps = 3;

/// Whether an eigenvalue above `least` lies outside the space, as far as another random start shows.
bool misses_more_than(Space& space, double least) {
    const Index first = space.cols();
    space.start(1);
    for (int step = 0; step < second_steps; ++step) {
        if (!space.grow()) break;
    }
    return space.ritz(first, 1).values.front() > least;
}

}  // namespace

bool lanczos_pays(MatrixView<const double> a, Index count) {
    constexpr Index smallest = 256;  // below, the direct solver has its matrix in the cache of one core
    return a.rows >= smallest && count < a.rows / 5 && 5 * first_look(count) <= 2 * a.rows;
}

std::optional<SymmetricEigen> lanczos_eigen(MatrixView<const double> a, Index count, double tolerance) {
    const Index most = std::min(a.rows / 2, 2 * first_look(count)) / block * block;
    const double total = trace(a);
    const double rounding = 4 * std::numeric_limits<double>::epsilon() * total;
    if (most <= count || !(total > 0)) return std::nullopt;
    const double squares = squared_norm(a);
    if (is_flat(total * total / squares, a.rows)) return std::nullopt;
    Space space(a, most + second_steps * block);
    space.start(0);
    Index look = std::min(most, first_look(count));
    while (space.cols() < most) {
        if (!space.grow()) return std::nullopt;
        // A mean, or a few strong directions, may hide that the rest is noise.
        constexpr Index few = 3 * block;
        const bool early = space.cols() == few && few <= count;
        if (early && is_flat(space.effective_rank_outside(total, squares), a.rows - few)) return std::nullopt;
        if (space.cols() < look || space.cols() <= count) continue;
        auto ritz = space.ritz(0, count + 1);
        if (may_have_more_copies(ritz.values, count, rounding)) return std::nullopt;
        double rest = total;
        for (Index i = 0; i < count; ++i) rest -= ritz.values[static_cast<std::size_t>(i)];
        const double gain = possible_gain(ritz, space.squared_residuals(ritz.vectors), count);
        if (gain <= std::max(tolerance * rest, rounding)) {
            ritz.values.resize(static_cast<std::size_t>(count));
            if (misses_more_than(space, ritz.values.back() + rounding)) return std::nullopt;
            SymmetricEigen result{std::move(ritz.values),
                                  space.vectors(leading_columns(ritz.vectors.view(), count).view())};
            apply_sign_rule(result.vectors.view());
            return result;
        }
        constexpr double far = 1e-3;  // from settled: each step gains a digit where it gains enough
        if (gain > far * rest) return std::nullopt;
        look = std::min(most, space.cols() + std::max<Index>(2 * block, space.cols() / 8));
    }
    return std::nullopt;
}

}  // namespace couplet
