#include <algorithm>
#include <cmath>
#include <utility>

#include "contractions.hpp"
#include "cp.hpp"
#include "extrapolation.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

/// Block coordinate descent of ||T - F W||^2 over F >= 0, a column at a time, from T W^T and W W^T (HALS, Cichocki and
/// Phan 2009).
void update_columns(Matrix<double>& f, const Matrix<double>& product, const Matrix<double>& gram) {
    constexpr double negligible = 1e-14;
    const Index rank = f.cols();
    double largest = 0;
    for (Index r = 0; r < rank; ++r) largest = std::max(largest, gram(r, r));
    for (Index i = 0; i < f.rows(); ++i) {
        double* const row = f.view().row(i);
        for (Index r = 0; r < rank; ++r) {
            if (!(gram(r, r) > negligible * largest)) continue;
            double rest = product(i, r);
            for (Index s = 0; s < rank; ++s) rest -= row[s] * gram(s, r);
            row[r] = std::max(0.0, row[r] + rest / gram(r, r));
        }
    }
}

class NonNegative {
  public:
    NonNegative(const std::vector<Tensor<double>>& cores, std::vector<Matrix<double>>& factors, double ridge)
        : contractions_(cores), ridge_(ridge) {
        // As many patients as rows can have any second moment that the rows have.
        const Index rows = std::max(factors[0].rows(), factors[0].cols());
        patients_ = Matrix<double>(rows, factors[0].cols());
        for (Index i = 0; i < patients_.size(); ++i) {
            patients_.data()[i] = factors[0].data()[i % factors[0].size()] + 1.0 / static_cast<double>(rows);
        }
    }

    double load(std::vector<Matrix<double>>& factors) {
        contractions_.backward(factors);
        const auto product = contractions_.product(0);
        const auto moment = plain::eigen(plain::turned_product(product.view(), product.view()).view());
        const auto gram = weighted(gram_product(factors, 0));
        match_scale(moment, gram);
        constexpr int inner = 3;
        Matrix<double> turn;
        for (int round = 0; round < inner; ++round) {
            turn = rotation(moment);
            update_columns(patients_, plain::product(patients_.view(), turn.view()), gram);
        }
        turn = rotation(moment);
        second_moment_ = plain::turned_product(patients_.view(), patients_.view());
        // The patients, turned back to the merged rows: K^T M^-1 G Phi with K^T the product.
        const auto pulled = plain::product(turn.view(), second_moment_.view());
        const auto back = plain::product(plain::power(moment, -1).view(), pulled.view());
        factors[0] = plain::product(product.view(), back.view());
        return 1 + plain::dot(second_moment_.view(), gram.view()) - 2 * plain::dot(second_moment_.view(), turn.view());
    }

    void sweep(std::vector<Matrix<double>>& factors) {
        contractions_.forward(0, factors[0]);
        for (std::size_t n = 1; n < factors.size(); ++n) {
            const auto product = contractions_.product(n);
            const auto gram = weighted(gram_without(factors, n));
            constexpr int inner = 2;
            for (int round = 0; round < inner; ++round) update_columns(factors[n], product, gram);
            if (n + 1 < factors.size()) contractions_.forward(n, factors[n]);
        }
        for (std::size_t n = 1; n < factors.size(); ++n) carry_scale(normalise_columns(factors[n]));
    }

  private:
    /// G with P = A G: the patients turned so that they fit best, A (M # Phi^-1), from their products with the model.
    Matrix<double> rotation(const plain::Eigen& moment) const {
        const auto phi = plain::turned_product(patients_.view(), patients_.view());
        const auto root = plain::power(moment, 0.5);
        const auto inner = plain::product(plain::product(root.view(), phi.view()).view(), root.view());
        const auto inverse = plain::power(plain::eigen(inner.view()), -0.5);
        return plain::product(plain::product(root.view(), inverse.view()).view(), root.view());
    }
    /// Before the first update the patients have no scale yet.
    void match_scale(const plain::Eigen& moment, const Matrix<double>& gram) {
        if (scaled_) return;
        scaled_ = true;
        const auto phi = plain::turned_product(patients_.view(), patients_.view());
        const double have = plain::dot(phi.view(), gram.view());
        const double want = plain::dot(phi.view(), rotation(moment).view());
        if (!(have > 0)) return;
        for (Index i = 0; i < patients_.size(); ++i) patients_.data()[i] *= want / have;
    }
    void carry_scale(const std::vector<double>& norms) {
        for (Index i = 0; i < patients_.rows(); ++i) {
            for (Index r = 0; r < patients_.cols(); ++r) patients_(i, r) *= norms[static_cast<std::size_t>(r)];
        }
    }
    /// Of all factors but the n-th, with the patients' own second moment.
    Matrix<double> gram_without(const std::vector<Matrix<double>>& factors, std::size_t n) const {
        auto gram = Matrix<double>::copy(second_moment_.view());
        for (std::size_t m = 1; m < factors.size(); ++m) {
            if (m == n) continue;
            const auto own = plain::turned_product(factors[m].view(), factors[m].view());
            for (Index i = 0; i < gram.size(); ++i) gram.data()[i] *= own.data()[i];
        }
        return gram;
    }
    Matrix<double> weighted(Matrix<double> gram) const {
        for (Index r = 0; r < gram.rows(); ++r) gram(r, r) *= 1 + ridge_;
        return gram;
    }

    Contractions contractions_;
    double ridge_;
    Matrix<double> patients_;  ///< A >= 0 of imagined patients
    Matrix<double> second_moment_;
    bool scaled_ = false;
};

}  // namespace

CpFit fit_nonnegative_cp(const std::vector<Tensor<double>>& cores, const FactorOptions& options, std::uint64_t start) {
    auto factors = random_factors(cores, options.components, true, options, start);
    NonNegative solver(cores, factors, options.ridge);
    return extrapolated(solver, std::move(factors), options, 0);
}

}  // namespace couplet
