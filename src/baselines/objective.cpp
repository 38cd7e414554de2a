#include "objective.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "fibers.hpp"

namespace couplet {
namespace {

double sigmoid(double m) { return 1 / (1 + std::exp(-m)); }

/// log(1 + exp m) - x m without overflow.
double logistic_loss(double x, double m) { return std::max(m, 0.0) + std::log1p(std::exp(-std::abs(m))) - x * m; }

/// Residuals of the model values m against x, in place.
void subtract_data(Loss loss, const double* x, double* m, Index count) {
    for (Index i = 0; i < count; ++i) m[i] = (loss == Loss::logistic ? sigmoid(m[i]) : m[i]) - x[i];
}

double curvature_of(Loss loss, double largest) { return loss == Loss::logistic ? largest / 4 : largest; }

}  // namespace

void require_zeros_and_ones(TensorView<const double> x, Index client) {
    for (Index i = 0; i < x.size(); ++i) {
        if (x.data()[i] == 0 || x.data()[i] == 1) continue;
        std::string at;
        for (const Index index : x.shape().indices(i)) at += (at.empty() ? "" : ", ") + std::to_string(index + 1);
        throw InputError({"client " + std::to_string(client + 1), std::to_string(x.data()[i]) + " at (" + at + ")",
                          "only 0 and 1 with `loss` logistic", "Use `loss` square."});
    }
}

CpObjective::CpObjective(std::shared_ptr<const Tensor<double>> x, Loss loss)
    : x_(std::move(x)), loss_(loss), norm2_(squared_norm(x_->view().unfold(1))) {
    if (loss == Loss::square) sparse_ = sparse_form(x_->view());
}

bool CpObjective::is_zero() const {
    return std::ranges::all_of(x_->elements(), [](double value) { return value == 0; });
}

Matrix<double> CpObjective::mttkrp(const Factors& factors, Index mode) const {
    return sparse_ ? couplet::mttkrp(*sparse_, factors, mode) : couplet::mttkrp(x_->view(), factors, mode);
}

Tensor<double> CpObjective::logistic_residual(const Factors& factors) const {
    Tensor<double> residual(shape());
    multiply<double>(factors[0].view(), Op::none, khatri_rao(factors, 1, shape().order()).view(), Op::transpose,
                     residual.view().unfold(1));
    subtract_data(loss_, x_->data(), residual.data(), residual.size());
    return residual;
}

Gradient CpObjective::gradient(const Factors& factors, Index mode) const {
    const auto gamma = khatri_rao_gram(factors, mode);
    const double curvature = curvature_of(loss_, largest_eigenvalue(gamma));
    if (loss_ == Loss::logistic) return {couplet::mttkrp(logistic_residual(factors).view(), factors, mode), curvature};
    auto value = mttkrp(factors, mode);
    multiply<double>(factors[static_cast<std::size_t>(mode)].view(), Op::none, gamma.view(), Op::none, value.view(),
                     1.0, -1.0);
    return {std::move(value), curvature};
}

Gradient CpObjective::gradient(const Factors& factors, Index mode, Index count, Random& random) const {
    const Index available = fiber_count(shape(), mode);
    if (count == 0 || count >= available) return gradient(factors, mode);
    const Fibers fibers = sample_fibers(shape(), mode, count, random);
    const Matrix<double> h = sampled_khatri_rao(factors, fibers);
    const Matrix<double> x = gather(x_->view(), fibers);
    auto residual = product<double>(factors[static_cast<std::size_t>(mode)].view(), h.view(), Op::none, Op::transpose);
    subtract_data(loss_, x.data(), residual.data(), residual.size());
    const double share = static_cast<double>(available) / static_cast<double>(count);
    Matrix<double> value(shape()[mode], h.cols());
    multiply<double>(residual.view(), Op::none, h.view(), Op::none, value.view(), share);
    const Side small = h.rows() < h.cols() ? Side::left : Side::right;
    return {std::move(value), share * curvature_of(loss_, largest_eigenvalue(gram<double>(h.view(), small)))};
}

CpFit CpObjective::fit(const Factors& factors) const {
    if (loss_ == Loss::square) {
        const double cross = inner_product(factors[0], mttkrp(factors, 0));
        const auto gamma = khatri_rao_gram(factors, -1);
        double model2 = 0;
        for (Index i = 0; i < gamma.size(); ++i) model2 += gamma.data()[i];
        const double difference = norm2_ - 2 * cross + model2;
        const double error2 = difference < 0 ? 0 : difference;  // by rounding; NaN stays NaN
        return {error2, error2 / 2};
    }
    Matrix<double> model(shape()[0], shape().product(1, shape().order()));
    multiply<double>(factors[0].view(), Op::none, khatri_rao(factors, 1, shape().order()).view(), Op::transpose,
                     model.view());
    CpFit result;
    for (Index i = 0; i < model.size(); ++i) {
        const double error = x_->data()[i] - sigmoid(model.data()[i]);
        result.error2 += error * error;
        result.objective += logistic_loss(x_->data()[i], model.data()[i]);
    }
    return result;
}

Matrix<double> CpObjective::best_personal(const Factors& factors) const {
    const auto gamma = khatri_rao_gram(factors, 0);
    if (loss_ == Loss::square) return solve_right(mttkrp(factors, 0), gamma);
    constexpr int steps = 100;
    const double curvature = curvature_of(loss_, largest_eigenvalue(gamma));
    Factors trial = clone(factors);
    Matrix<double> best = Matrix<double>::zeros(shape()[0], gamma.cols());
    trial[0] = Matrix<double>::copy(best.view());
    double momentum = 1;
    for (int step = 0; step < steps && curvature > 0; ++step) {
        const auto slope = couplet::mttkrp(logistic_residual(trial).view(), trial, 0);
        auto next = Matrix<double>::copy(trial[0].view());
        add_scaled(next, -1 / curvature, slope);
        auto move = Matrix<double>::copy(next.view());
        add_scaled(move, -1, best);
        // Momentum that points uphill is dropped (O'Donoghue and Candes 2015).
        if (inner_product(slope, move) > 0) momentum = 1;
        const double following = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
        trial[0] = Matrix<double>::copy(next.view());
        add_scaled(trial[0], (momentum - 1) / following, move);
        momentum = following;
        best = std::move(next);
    }
    return best;
}

}  // namespace couplet
