#include "couplet/models/loadings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "contractions.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/ctt/project.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/tt/contraction.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

constexpr Index rows_a_task = 64;

/// One patient's active set.
class ActiveSet {
  public:
    ActiveSet(MatrixView<const double> gram, const double* product, double* y) : gram_(gram), product_(product), y_(y) {
        std::fill_n(y_, gram.rows, 0.0);
        free_.assign(static_cast<std::size_t>(gram.rows), false);
    }

    void solve() {
        // Each step frees one variable; cycling is only possible by rounding.
        for (Index step = 0; step < 3 * gram_.rows; ++step) {
            const Index next = steepest();
            if (next < 0) return;
            free_[at(next)] = true;
            descend();
        }
    }

  private:
    static std::size_t at(Index r) { return static_cast<std::size_t>(r); }

    double gradient(Index r) const {
        double sum = product_[r];
        for (Index s = 0; s < gram_.rows; ++s) sum -= gram_(r, s) * y_[s];
        return sum;
    }
    /// The held variable that gains most when it grows; -1 for none.
    Index steepest() const {
        constexpr double rounding = 1e-12;
        Index best = -1;
        double most = 0;
        for (Index r = 0; r < gram_.rows; ++r) {
            if (free_[at(r)] || !(gram_(r, r) > 0)) continue;
            const double gain = gradient(r);
            if (gain > most && gain > rounding * std::abs(product_[r])) {
                best = r;
                most = gain;
            }
        }
        return best;
    }
    /// To the least squares of the free variables, or as far as none gets negative; those that reach zero are held.
    void descend() {
        for (Index guard = 0; guard <= gram_.rows; ++guard) {
            const auto target = unconstrained();
            double part = 1;
            for (Index r = 0; r < gram_.rows; ++r) {
                if (free_[at(r)] && target[at(r)] <= 0 && y_[r] > target[at(r)]) {
                    part = std::min(part, y_[r] / (y_[r] - target[at(r)]));
                }
            }
            for (Index r = 0; r < gram_.rows; ++r) y_[r] += part * (target[at(r)] - y_[r]);
            if (part == 1 && !hold_negative(target)) return;
            hold_zeros(target);
        }
    }
    bool hold_negative(const std::vector<double>& target) {
        bool any = false;
        for (Index r = 0; r < gram_.rows; ++r) any = any || (free_[at(r)] && target[at(r)] <= 0);
        return any;
    }
    void hold_zeros(const std::vector<double>& target) {
        for (Index r = 0; r < gram_.rows; ++r) {
            if (!free_[at(r)] || target[at(r)] > 0 || y_[r] > 1e-14 * std::abs(target[at(r)])) continue;
            free_[at(r)] = false;
            y_[r] = 0;
        }
    }
    std::vector<double> unconstrained() const {
        std::vector<Index> set;
        for (Index r = 0; r < gram_.rows; ++r) {
            if (free_[at(r)]) set.push_back(r);
        }
        const auto size = static_cast<Index>(set.size());
        Matrix<double> own(size, size);
        Matrix<double> right(1, size);
        for (Index i = 0; i < size; ++i) {
            right(0, i) = product_[set[at(i)]];
            for (Index j = 0; j < size; ++j) own(i, j) = gram_(set[at(i)], set[at(j)]);
        }
        const auto solved = plain::divide(right.view(), own.view());
        std::vector<double> target(at(gram_.rows));
        for (Index i = 0; i < size; ++i) target[at(set[at(i)])] = solved(0, i);
        return target;
    }

    MatrixView<const double> gram_;
    const double* product_;
    double* y_;
    std::vector<bool> free_;
};

/// Loadings from products with the rows; error2 is what they keep of the data's square.
Loadings fitted(MatrixView<const double> products, MatrixView<const double> gram, bool non_negative) {
    Loadings result;
    result.values = non_negative ? non_negative_least_squares(products, gram)
                                 : product<double>(products, plain::power(plain::eigen(gram), -1).view());
    const auto explained = product<double>(result.values.view(), gram);
    for (Index i = 0; i < explained.rows(); ++i) {
        for (Index r = 0; r < explained.cols(); ++r) {
            result.error2 += result.values(i, r) * (2 * products(i, r) - explained(i, r));
        }
    }
    return result;
}

Loadings non_negative_loadings(const TensorTrain<double>& rows, const TensorView<const double>& x,
                               const std::string& where) {
    require_finite(x, where);
    auto scaled = Tensor<double>::copy(x);
    const int exponent = make_squares_safe(scaled.elements());
    const auto products = contract_right(TensorView<const double>(scaled.view()), rows);
    Loadings result = fitted(products.view(), inner_products(rows, rows).view(), true);
    result.norm2 = squared_norm<double>(std::as_const(scaled).view().unfold(1));
    result.error2 = std::max(0.0, result.norm2 - result.error2);
    scale_by_power(result.values.data(), result.values.size(), exponent, result.values.data());
    result.norm2 = std::ldexp(result.norm2, 2 * exponent);
    result.error2 = std::ldexp(result.error2, 2 * exponent);
    return result;
}

}  // namespace

Matrix<double> non_negative_least_squares(MatrixView<const double> products, MatrixView<const double> gram) {
    Matrix<double> y(products.rows, products.cols);
    parallel_for((products.rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
        const Index end = std::min(products.rows, (task + 1) * rows_a_task);
        for (Index i = task * rows_a_task; i < end; ++i) {
            ActiveSet(gram, products.row(i), y.view().row(i)).solve();
        }
    });
    return y;
}

Loadings fit_projected_loadings(const TensorTrain<double>& rows, const TensorTrain<double>& features,
                                MatrixView<const double> personal, bool non_negative) {
    const auto across = inner_products(features, rows);
    const auto products = product<double>(personal, across.view());
    Loadings result = fitted(products.view(), inner_products(rows, rows).view(), non_negative);
    result.norm2 = squared_norm<double>(personal);
    result.error2 = std::max(0.0, result.norm2 - result.error2);
    return result;
}

Loadings fit_loadings(const TensorTrain<double>& rows, const TensorView<const double>& x, bool non_negative,
                      const std::string& where) {
    std::vector<Index> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    if (sizes.empty() || Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())) != rows.shape()) {
        throw InputError({where, "modes " + x.shape().to_string(),
                          "patients, then " + rows.shape().to_string() + " as the model", ""});
    }
    if (sizes.front() == 0) return {.values = Matrix<double>(0, rows.left_rank())};
    if (non_negative) return non_negative_loadings(rows, x, where);
    Projection fit = project(rows, x, where);
    const double norm2 = squared_norm<double>(x.unfold(1));
    return {.values = std::move(fit.personal), .norm2 = norm2, .error2 = fit.rse * norm2};
}

}  // namespace couplet
