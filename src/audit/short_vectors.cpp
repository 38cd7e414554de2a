#include "couplet/audit/short_vectors.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr double lovasz = 0.99;
constexpr double size_reduced = 0.51;
// Bits of the values that one reduction takes in; few enough that products of a double stay exact.
constexpr double bits_at_once = 8;
// Of a squared norm: what is left below this share has lost half of its digits.
constexpr double lost_to_rounding = 1e-7;
// Coefficients beyond this are none of a short vector, and their sums would no longer be exact.
constexpr double largest_coefficient = 0x1.0p40;

/// A lattice basis whose vectors are integers, followed by the sums of the values times a scale.
class Reduction {
  public:
    Reduction(IntegerRows generators, MatrixView<const double> values, const ShortVectorOptions& options,
              std::int64_t& work)
        : integers_(std::move(generators)), values_(values), options_(options), left_(work) {}

    IntegerRows run() {
        if (integers_.empty()) return {};
        double scale = 1 / largest_value();
        const double last = 1 / options_.tolerance;
        while (true) {
            scale = std::min(scale * std::exp2(bits_at_once), last);
            weigh(scale);
            if (!reduce()) return {};
            drop_long();
            if (scale >= last || integers_.empty()) return std::move(integers_);
        }
    }

  private:
    std::size_t rank() const { return integers_.size(); }
    std::size_t width() const { return integers_.front().size() + static_cast<std::size_t>(values_.cols); }

    double largest_value() const {
        double largest = options_.tolerance;
        for (Index i = 0; i < values_.rows; ++i) {
            for (Index j = 0; j < values_.cols; ++j) largest = std::max(largest, std::abs(values_(i, j)));
        }
        return largest;
    }
    /// Vectors from their exact integers: what rounding the reduction before has left is gone.
    void weigh(double scale) {
        rows_.assign(rank(), std::vector<double>(width()));
        for (std::size_t k = 0; k < rank(); ++k) {
            const auto& z = integers_[k];
            std::copy(z.begin(), z.end(), rows_[k].begin());
            for (Index j = 0; j < values_.cols; ++j) {
                double sum = 0;
                for (std::size_t i = 0; i < z.size(); ++i) {
                    if (z[i] != 0) sum += static_cast<double>(z[i]) * values_(static_cast<Index>(i), j);
                }
                rows_[k][z.size() + static_cast<std::size_t>(j)] = scale * sum;
            }
        }
        directions_.assign(rank(), std::vector<double>(width()));
        lengths_.assign(rank(), 0);
        parts_.assign(rank(), std::vector<double>(rank(), 0.0));
    }
    /// Four sums side by side, which a processor adds at once, in an order of their own.
    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        double sums[4] = {0, 0, 0, 0};
        std::size_t i = 0;
        for (; i + 4 <= a.size(); i += 4) {
            for (std::size_t j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
        }
        for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    /// Row k less its parts along the first k directions; what it has along them is kept. Once more where little is
    /// left, which is mostly rounding then; twice is enough.
    void orthogonalise(std::size_t k) {
        auto& rest = directions_[k];
        rest = rows_[k];
        auto& parts = parts_[k];
        std::fill_n(parts.begin(), k, 0.0);
        const double before = dot(rest, rest);
        double after = before;
        for (int pass = 0; pass < 2 && (pass == 0 || after < lost_to_rounding * before); ++pass) {
            for (std::size_t j = 0; j < k; ++j) {
                const double part = dot(rest, directions_[j]);
                parts[j] += part;
                for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= part * directions_[j][i];
            }
            left_ -= static_cast<std::int64_t>(2 * k * width());
            after = dot(rest, rest);
        }
        lengths_[k] = std::sqrt(after);
        const double inverse = lengths_[k] > 0 ? 1 / lengths_[k] : 0;
        for (double& value : rest) value *= inverse;
    }
    /// Takes whole multiples of the earlier vectors away until nothing is left to take. False: a number grew beyond
    /// what is exact.
    bool shorten(std::size_t k) {
        for (int pass = 0; pass < 60; ++pass) {
            orthogonalise(k);
            bool changed = false;
            for (std::size_t j = k; j-- > 0;) {
                if (!(std::abs(parts_[k][j]) > size_reduced * lengths_[j])) continue;
                const double times = std::round(parts_[k][j] / lengths_[j]);
                if (!(std::abs(times) < largest_coefficient)) return false;
                subtract(k, j, times);
                changed = true;
            }
            if (!changed) return true;
        }
        return true;
    }
    void subtract(std::size_t k, std::size_t j, double times) {
        for (std::size_t i = 0; i < width(); ++i) rows_[k][i] -= times * rows_[j][i];
        const auto whole = static_cast<std::int64_t>(times);
        for (std::size_t i = 0; i < integers_[k].size(); ++i) integers_[k][i] -= whole * integers_[j][i];
        // What row j has along the directions before it goes with it.
        for (std::size_t i = 0; i < j; ++i) parts_[k][i] -= times * parts_[j][i];
        parts_[k][j] -= times * lengths_[j];
        left_ -= static_cast<std::int64_t>(3 * width());
    }
    /// What row k has beyond the directions before k - 1 lies along the last two: no product is needed.
    void swap_with_previous(std::size_t k) {
        std::swap(rows_[k], rows_[k - 1]);
        std::swap(integers_[k], integers_[k - 1]);
        std::swap(parts_[k], parts_[k - 1]);
        const double along = parts_[k - 1][k - 1];
        const double length = std::sqrt(along * along + lengths_[k] * lengths_[k]);
        auto& direction = directions_[k - 1];
        const double inverse = length > 0 ? 1 / length : 0;
        for (std::size_t i = 0; i < direction.size(); ++i) {
            direction[i] = inverse * (along * direction[i] + lengths_[k] * directions_[k][i]);
        }
        lengths_[k - 1] = length;
        left_ -= static_cast<std::int64_t>(width());
    }
    bool reduce() {
        orthogonalise(0);
        std::size_t k = 1;
        while (k < rank()) {
            if (left_ < 0 || !shorten(k)) return false;
            const double before = lengths_[k - 1] * lengths_[k - 1];
            if (lengths_[k] * lengths_[k] + parts_[k][k - 1] * parts_[k][k - 1] >= lovasz * before) {
                ++k;
                continue;
            }
            swap_with_previous(k);
            k = std::max<std::size_t>(1, k - 1);
        }
        return true;
    }
    /// A vector that is shorter than the last direction's length has no part in it.
    void drop_long() {
        while (!integers_.empty() && lengths_[rank() - 1] > options_.longest) {
            integers_.pop_back();
            lengths_.pop_back();
        }
    }

    IntegerRows integers_;
    MatrixView<const double> values_;
    const ShortVectorOptions& options_;
    std::int64_t& left_;
    std::vector<std::vector<double>> rows_;
    std::vector<std::vector<double>> directions_;  ///< orthonormal
    std::vector<double> lengths_;                  ///< of the rows beyond the directions before
    std::vector<std::vector<double>> parts_;       ///< of each row along the directions before its own
};

}  // namespace

IntegerRows short_vectors(IntegerRows generators, MatrixView<const double> values, const ShortVectorOptions& options,
                          std::int64_t& work) {
    if (!(options.tolerance > 0)) {
        throw InputError({"`tolerance`", std::to_string(options.tolerance), "a number greater than 0", ""});
    }
    for (const auto& z : generators) {
        if (static_cast<Index>(z.size()) == values.rows) continue;
        throw InputError({"generators", std::to_string(z.size()) + " entries", std::to_string(values.rows), ""});
    }
    return Reduction(std::move(generators), values, options, work).run();
}

}  // namespace couplet
