#include "cp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "couplet/core/random.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

// Products of a block with the modes to the right stay in a core's cache: 256 KiB.
constexpr Index block_elements = 32 * 1024;

// What a solver would refuse stays a number that is none, for whoever drives the rounds to find.
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool is_finite(const Matrix<double>& a) {
    return !find_non_finite(std::span(a.data(), static_cast<std::size_t>(a.size())));
}

constexpr std::uint64_t factor_stream = 0x6370'6661'6374'0000;

/// result(i, r) += sum over l of left(l, r) t(l, i, r) for the rows [first, first + count) of left.
void add_weighted(const Matrix<double>& left, Index first, Index count, const Matrix<double>& t,
                  Matrix<double>& result) {
    const Index size = result.rows();
    const Index rank = result.cols();
    for (Index l = 0; l < count; ++l) {
        const double* weight = left.view().row(first + l);
        for (Index i = 0; i < size; ++i) {
            const double* from = t.data() + (l * size + i) * rank;
            double* to = result.view().row(i);
            for (Index r = 0; r < rank; ++r) to[r] += weight[r] * from[r];
        }
    }
}

Matrix<double> mttkrp_middle(TensorView<const double> x, const Factors& factors, Index mode) {
    const Shape& shape = x.shape();
    const Index size = shape[mode];
    const Index rank = factors.back().cols();
    const Matrix<double> left = khatri_rao(factors, 0, mode);
    const Matrix<double> right = khatri_rao(factors, mode + 1, shape.order());
    const auto rows = x.unfold(mode + 1);
    auto result = Matrix<double>::zeros(size, rank);
    const Index step = std::clamp<Index>(block_elements / std::max<Index>(1, size * rank), 1, left.rows());
    for (Index first = 0; first < left.rows(); first += step) {
        const Index count = std::min(step, left.rows() - first);
        const auto t = product<double>(rows.rows_from(first * size, count * size), right.view());
        add_weighted(left, first, count, t, result);
    }
    return result;
}

}  // namespace

Factors clone(const Factors& factors) {
    Factors result;
    result.reserve(factors.size());
    for (const auto& factor : factors) result.push_back(Matrix<double>::copy(factor.view()));
    return result;
}

Factors random_shared_factors(const Shape& shape, Index rank, std::uint64_t seed) {
    Factors factors(1);
    for (Index n = 1; n < shape.order(); ++n) {
        Random random(seed, factor_stream + static_cast<std::uint64_t>(n));
        Matrix<double> factor(shape[n], rank);
        for (Index i = 0; i < factor.size(); ++i) factor.data()[i] = random.normal();
        for (Index r = 0; r < rank; ++r) {
            double norm2 = 0;
            for (Index i = 0; i < factor.rows(); ++i) norm2 += factor(i, r) * factor(i, r);
            const double scale = norm2 > 0 ? 1 / std::sqrt(norm2) : 0;
            for (Index i = 0; i < factor.rows(); ++i) factor(i, r) *= scale;
        }
        factors.push_back(std::move(factor));
    }
    return factors;
}

Matrix<double> khatri_rao(const Factors& factors, Index begin, Index end) {
    const Index rank = factors.back().cols();
    if (begin >= end) {
        Matrix<double> ones(1, rank);
        std::fill_n(ones.data(), rank, 1.0);
        return ones;
    }
    auto result = Matrix<double>::copy(factors[static_cast<std::size_t>(begin)].view());
    for (Index n = begin + 1; n < end; ++n) {
        const auto& factor = factors[static_cast<std::size_t>(n)];
        Matrix<double> next(checked_product(result.rows(), factor.rows()), rank);
        double* to = next.data();
        for (Index i = 0; i < result.rows(); ++i) {
            const double* a = result.view().row(i);
            for (Index j = 0; j < factor.rows(); ++j, to += rank) {
                const double* b = factor.view().row(j);
                for (Index r = 0; r < rank; ++r) to[r] = a[r] * b[r];
            }
        }
        result = std::move(next);
    }
    return result;
}

Matrix<double> khatri_rao_gram(const Factors& factors, Index mode) {
    const Index rank = factors.back().cols();
    Matrix<double> result(rank, rank);
    std::fill_n(result.data(), result.size(), 1.0);
    for (Index n = 0; n < static_cast<Index>(factors.size()); ++n) {
        if (n == mode) continue;
        const auto g = gram<double>(factors[static_cast<std::size_t>(n)].view(), Side::right);
        for (Index i = 0; i < result.size(); ++i) result.data()[i] *= g.data()[i];
    }
    return result;
}

Matrix<double> mttkrp(TensorView<const double> x, const Factors& factors, Index mode) {
    const Index order = x.shape().order();
    if (mode == 0) return product<double>(x.unfold(1), khatri_rao(factors, 1, order).view());
    if (mode == order - 1) {
        return product<double>(x.unfold(mode), khatri_rao(factors, 0, mode).view(), Op::transpose);
    }
    return mttkrp_middle(x, factors, mode);
}

double inner_product(const Matrix<double>& a, const Matrix<double>& b) {
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i) sum += a.data()[i] * b.data()[i];
    return sum;
}

void add_scaled(Matrix<double>& a, double scale, const Matrix<double>& b) {
    for (Index i = 0; i < a.size(); ++i) a.data()[i] += scale * b.data()[i];
}

double largest_eigenvalue(const Matrix<double>& a) {
    if (a.rows() == 0) return 0;
    if (!is_finite(a)) return not_a_number;
    if (a.rows() == 1) return std::max(0.0, a(0, 0));
    return std::max(0.0, TridiagonalForm(a.view()).top_values(1).front());
}

Matrix<double> solve_right(const Matrix<double>& b, const Matrix<double>& a, double shift) {
    constexpr double negligible = 1e-12;
    if (!is_finite(a) || !std::isfinite(shift)) {
        Matrix<double> nothing(b.rows(), b.cols());
        std::fill_n(nothing.data(), nothing.size(), not_a_number);
        return nothing;
    }
    const auto eigen = symmetric_eigen(a.view());
    auto result = product<double>(b.view(), eigen.vectors.view());
    const double least = negligible * (std::max(0.0, eigen.values.front()) + shift);
    for (Index j = 0; j < result.cols(); ++j) {
        const double value = eigen.values[static_cast<std::size_t>(j)] + shift;
        const double inverse = value > least ? 1 / value : 0;
        for (Index i = 0; i < result.rows(); ++i) result(i, j) *= inverse;
    }
    return product<double>(result.view(), eigen.vectors.view(), Op::none, Op::transpose);
}

TensorTrain<double> factor_train(const Factors& factors) {
    std::vector<Tensor<double>> cores;
    const auto last = factors.size() - 1;
    for (std::size_t n = 1; n <= last; ++n) {
        const auto& factor = factors[n];
        const Index rank = factor.cols();
        const Index right = n == last ? 1 : rank;
        auto core = Tensor<double>::zeros(Shape{rank, factor.rows(), right});
        for (Index r = 0; r < rank; ++r) {
            for (Index i = 0; i < factor.rows(); ++i) {
                core.data()[(r * factor.rows() + i) * right + (n == last ? 0 : r)] = factor(i, r);
            }
        }
        cores.push_back(std::move(core));
    }
    return TensorTrain<double>(std::move(cores));
}

}  // namespace couplet
