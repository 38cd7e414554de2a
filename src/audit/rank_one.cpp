#include "couplet/audit/rank_one.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

using Vector = std::vector<double>;

double dot(const double* a, const double* b, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

void normalise(Vector& v) {
    const auto n = static_cast<Index>(v.size());
    const double norm = std::sqrt(dot(v.data(), v.data(), n));
    for (double& value : v) value /= norm > 0 ? norm : 1;
}

struct Candidate {
    Vector row;
    double share = 0;  ///< of its square in the row space
};

/// Many starts at once, so that the projections are products of matrices: from random points of the row space to the
/// nearest rank-one matrices, back to the row space, and again.
class Search {
  public:
    Search(MatrixView<const double> basis, Index first) : basis_(basis), m_(first), n_(basis.cols / first) {}

    std::vector<Candidate> run(Random& random, Index starts, int iterations) const {
        Matrix<double> weights(starts, basis_.rows);
        Matrix<double> points(starts, basis_.cols);
        Matrix<double> guesses(starts, basis_.cols);
        for (Index i = 0; i < weights.size(); ++i) weights.data()[i] = random.normal();
        std::vector<Vector> right(static_cast<std::size_t>(starts), Vector(static_cast<std::size_t>(n_)));
        for (Vector& v : right) {
            for (double& value : v) value = random.normal();
            normalise(v);
        }
        Vector shares(static_cast<std::size_t>(starts), 0.0);
        for (int i = 0; i < iterations; ++i) {
            multiply<double>(weights.view(), Op::none, basis_, Op::none, points.view());
            for (Index s = 0; s < starts; ++s)
                nearest(points.view().row(s), right[static_cast<std::size_t>(s)], guesses.view().row(s));
            multiply<double>(guesses.view(), Op::none, basis_, Op::transpose, weights.view());
            if (!update(shares, weights) && i > 10) break;
        }
        std::vector<Candidate> found;
        for (Index s = 0; s < starts; ++s) {
            const double* row = guesses.view().row(s);
            found.push_back({Vector(row, row + basis_.cols), shares[static_cast<std::size_t>(s)]});
        }
        return found;
    }

  private:
    /// A step of the power method for the nearest rank-one matrix u v^T of norm 1, from the v of the step before.
    void nearest(const double* point, Vector& v, double* guess) const {
        Vector u(static_cast<std::size_t>(m_));
        for (Index i = 0; i < m_; ++i) u[static_cast<std::size_t>(i)] = dot(point + i * n_, v.data(), n_);
        normalise(u);
        std::fill(v.begin(), v.end(), 0.0);
        for (Index i = 0; i < m_; ++i) {
            const double weight = u[static_cast<std::size_t>(i)];
            for (Index j = 0; j < n_; ++j) v[static_cast<std::size_t>(j)] += weight * point[i * n_ + j];
        }
        normalise(v);
        for (Index i = 0; i < m_; ++i) {
            for (Index j = 0; j < n_; ++j) {
                guess[i * n_ + j] = u[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)];
            }
        }
    }
    /// Squares of the projections; whether any still grows.
    static bool update(Vector& shares, const Matrix<double>& weights) {
        bool grows = false;
        for (Index s = 0; s < weights.rows(); ++s) {
            const double square = dot(weights.view().row(s), weights.view().row(s), weights.cols());
            double& share = shares[static_cast<std::size_t>(s)];
            grows = grows || square - share > 1e-6;
            share = square;
        }
        return grows;
    }

    MatrixView<const double> basis_;
    Index m_;
    Index n_;
};

std::vector<Candidate> search_all(MatrixView<const double> basis, Index first, const RankOneOptions& options) {
    constexpr Index batch = 64;
    const Search search(basis, first);
    const Index starts = options.starts_per_row * basis.rows;
    std::vector<Candidate> found;
    for (Index done = 0; done < starts; done += batch) {
        Random random(options.seed, 0x72616e6b + static_cast<std::uint64_t>(done));
        auto some = search.run(random, std::min(batch, starts - done), options.iterations);
        std::move(some.begin(), some.end(), std::back_inserter(found));
    }
    return found;
}

}  // namespace

Matrix<double> rank_one_rows(MatrixView<const double> rows, const Shape& features, const RankOneOptions& options) {
    if (features.order() < 2 || rows.rows == 0) return {};
    SvdOptions whole;
    whole.max_tail = 1e-5 * std::sqrt(squared_norm<double>(rows));
    const auto space = transpose(dominant_basis<double>(rows, Side::right, whole).vectors.view());
    auto found = search_all(space.view(), features[0], options);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
    std::vector<const Candidate*> kept;
    for (const Candidate& candidate : found) {
        if (candidate.share < options.least_share || static_cast<Index>(kept.size()) == 2 * rows.rows) break;
        const bool known = std::any_of(kept.begin(), kept.end(), [&](const Candidate* other) {
            return std::abs(dot(candidate.row.data(), other->row.data(), rows.cols)) > options.same;
        });
        if (!known) kept.push_back(&candidate);
    }
    Matrix<double> result(static_cast<Index>(kept.size()), rows.cols);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        std::copy(kept[i]->row.begin(), kept[i]->row.end(), result.view().row(static_cast<Index>(i)));
    }
    return result;
}

}  // namespace couplet
