#include "tucker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cp.hpp"
#include "plain.hpp"

namespace couplet {
namespace {

/// Core n by its middle mode: I_n x (r_{n-1} r_n).
Matrix<double> middle(const Tensor<double>& core) {
    const Shape& s = core.shape();
    Matrix<double> out(s[1], s[0] * s[2]);
    for (Index a = 0; a < s[0]; ++a) {
        for (Index i = 0; i < s[1]; ++i) {
            std::copy_n(core.data() + (a * s[1] + i) * s[2], s[2], out.view().row(i) + a * s[2]);
        }
    }
    return out;
}

/// One mode of the train while the others are projected.
struct Mode {
    Matrix<double> middle;  ///< I_n x (r_{n-1} r_n)
    Index left;             ///< r_{n-1}
    Index right;            ///< r_n

    /// The slices in the basis: R_n matrices r_{n-1} x r_n, as rows of R_n x (r_{n-1} r_n).
    Matrix<double> in(const Matrix<double>& basis) const { return plain::turned_product(basis.view(), middle.view()); }
    MatrixView<const double> slice(const Matrix<double>& slices, Index r) const {
        return {slices.view().row(r), left, right};
    }
};

/// Second moment of what lies left of the next bond: sum_r H_r^T L H_r.
Matrix<double> moved_right(const Mode& mode, const Matrix<double>& slices, const Matrix<double>& moment) {
    auto out = Matrix<double>::zeros(mode.right, mode.right);
    for (Index r = 0; r < slices.rows(); ++r) {
        const auto weighted = plain::product(moment.view(), mode.slice(slices, r));
        plain::add_product(mode.slice(slices, r), true, weighted.view(), out.view());
    }
    return out;
}

/// Of what lies right of the bond before: sum_r H_r Q H_r^T.
Matrix<double> moved_left(const Mode& mode, const Matrix<double>& slices, const Matrix<double>& moment) {
    auto out = Matrix<double>::zeros(mode.left, mode.left);
    for (Index r = 0; r < slices.rows(); ++r) {
        const auto turned = transpose(mode.slice(slices, r));
        const auto weighted = plain::product(moment.view(), turned.view());
        plain::add_product(mode.slice(slices, r), false, weighted.view(), out.view());
    }
    return out;
}

/// The mode's second moment, given those on its sides, times the basis: sum_r (L H_r Q) against every slice.
Matrix<double> powered(const Mode& mode, const Matrix<double>& slices, const Matrix<double>& left,
                       const Matrix<double>& right) {
    Matrix<double> weighted(slices.rows(), slices.cols());
    for (Index r = 0; r < slices.rows(); ++r) {
        const auto once = plain::product(left.view(), mode.slice(slices, r));
        const auto both = plain::product(once.view(), right.view());
        std::copy_n(both.data(), both.size(), weighted.view().row(r));
    }
    return plain::product(mode.middle.view(), transpose(weighted.view()).view());
}

class OrthogonalIteration {
  public:
    OrthogonalIteration(const std::vector<Tensor<double>>& cores, std::vector<Matrix<double>> bases)
        : bases_(std::move(bases)) {
        for (const auto& core : cores) modes_.push_back({middle(core), core.shape()[0], core.shape()[2]});
        for (auto& basis : bases_) plain::orthonormalise(basis);
    }

    /// Every mode once; returns how much of the train's square the bases keep. `alone`: each mode by itself, the others
    /// whole, as HOSVD has it.
    double sweep(bool alone) {
        std::vector<Matrix<double>> rights(modes_.size());
        Matrix<double> right = Matrix<double>::identity(1);
        for (std::size_t n = modes_.size(); n-- > 0;) {
            rights[n] = Matrix<double>::copy(right.view());
            right = moved_left(modes_[n], alone ? whole(n) : modes_[n].in(bases_[n]), right);
        }
        Matrix<double> left = Matrix<double>::identity(1);
        double kept = 0;
        for (std::size_t n = 0; n < modes_.size(); ++n) {
            auto next = powered(modes_[n], modes_[n].in(bases_[n]), left, rights[n]);
            kept = trace_in(next, bases_[n]);
            if (bases_[n].cols() < bases_[n].rows()) {
                plain::orthonormalise(next);
                bases_[n] = std::move(next);
            }
            left = moved_right(modes_[n], alone ? whole(n) : modes_[n].in(bases_[n]), left);
        }
        return alone ? kept : left(0, 0);
    }
    /// Bases turned so that their columns come in order of what they keep, each uncorrelated with the others.
    std::vector<Matrix<double>> finish() {
        std::vector<Matrix<double>> rights(modes_.size());
        Matrix<double> right = Matrix<double>::identity(1);
        for (std::size_t n = modes_.size(); n-- > 0;) {
            rights[n] = Matrix<double>::copy(right.view());
            right = moved_left(modes_[n], modes_[n].in(bases_[n]), right);
        }
        Matrix<double> left = Matrix<double>::identity(1);
        std::vector<Matrix<double>> turned;
        for (std::size_t n = 0; n < modes_.size(); ++n) {
            const auto slices = modes_[n].in(bases_[n]);
            const auto moment =
                plain::turned_product(bases_[n].view(), powered(modes_[n], slices, left, rights[n]).view());
            turned.push_back(plain::product(bases_[n].view(), plain::eigen(moment.view()).vectors.view()));
            left = moved_right(modes_[n], slices, left);
        }
        return turned;
    }

  private:
    static double trace_in(const Matrix<double>& powered, const Matrix<double>& basis) {
        return plain::dot(powered.view(), basis.view());
    }
    Matrix<double> whole(std::size_t n) const { return Matrix<double>::copy(modes_[n].middle.view()); }

    std::vector<Mode> modes_;
    std::vector<Matrix<double>> bases_;
};

}  // namespace

TuckerFit fit_tucker(const std::vector<Tensor<double>>& cores, const std::vector<Index>& ranks,
                     const FactorOptions& options, std::uint64_t start) {
    const Index most = *std::max_element(ranks.begin(), ranks.end());
    auto bases = random_factors(cores, most, false, options, start);
    for (std::size_t n = 0; n < bases.size(); ++n) {
        bases[n] = ranks[n] == bases[n].rows() ? Matrix<double>::identity(ranks[n])
                                               : leading_columns(bases[n].view(), ranks[n]);
    }
    OrthogonalIteration iteration(cores, std::move(bases));
    constexpr int first_sweeps = 3;
    for (int i = 0; i < first_sweeps; ++i) iteration.sweep(true);
    // A power step a sweep gains little at the end; what it still could is not the model's to keep.
    constexpr double coarser = 100;
    TuckerFit fit;
    double kept = 0;
    while (fit.sweeps < options.sweeps && !fit.converged) {
        const double now = iteration.sweep(false);
        fit.converged = std::abs(now - kept) <= coarser * options.tolerance;
        kept = now;
        ++fit.sweeps;
    }
    fit.error2 = std::max(0.0, 1 - kept);
    fit.bases = iteration.finish();
    return fit;
}

Matrix<double> core_in_basis(const Tensor<double>& core, const Matrix<double>& basis) {
    const Shape& s = core.shape();
    const auto slices = plain::turned_product(basis.view(), middle(core).view());
    // r x (a b) to (a r) x b.
    Matrix<double> out(s[0] * basis.cols(), s[2]);
    for (Index a = 0; a < s[0]; ++a) {
        for (Index r = 0; r < basis.cols(); ++r) {
            std::copy_n(slices.view().row(r) + a * s[2], s[2], out.view().row(a * basis.cols() + r));
        }
    }
    return out;
}

Tensor<double> tucker_core(const std::vector<Tensor<double>>& cores, const std::vector<Matrix<double>>& bases) {
    Matrix<double> product = Matrix<double>::identity(1);
    std::vector<Index> sizes;
    for (std::size_t n = 0; n < cores.size(); ++n) {
        auto core = core_in_basis(cores[n], bases[n]);
        const Index right = core.cols();
        core.reshape(product.cols(), core.size() / product.cols());
        product = plain::product(product.view(), core.view());
        product.reshape(product.size() / right, right);
        sizes.push_back(bases[n].cols());
    }
    return Tensor<double>(Shape(std::move(sizes)), std::move(product).release());
}

}  // namespace couplet
