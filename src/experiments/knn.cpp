#include "couplet/experiments/knn.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// A factor that brings everything near one where squares would overflow or vanish; otherwise 1.
double safe_factor(MatrixView<const double> a, MatrixView<const double> b) {
    const double most = std::max(max_magnitude<double>(a), max_magnitude<double>(b));
    return most > 1e100 || (most > 0 && most < 1e-100) ? 1 / most : 1;
}

Matrix<double> scaled(MatrixView<const double> x, double factor) {
    Matrix<double> result = Matrix<double>::copy(x);
    for (Index i = 0; i < result.size(); ++i) result.data()[i] *= factor;
    return result;
}

std::vector<double> squared_norms(MatrixView<const double> x) {
    std::vector<double> norms;
    for (Index i = 0; i < x.rows; ++i) {
        norms.push_back(std::inner_product(x.row(i), x.row(i) + x.cols, x.row(i), 0.0));
    }
    return norms;
}

/// The class with most votes; the earliest of the voters decides a tie.
Label vote(std::span<const Index> nearest, std::span<const Label> labels) {
    std::map<Label, Index> votes;
    for (const Index i : nearest) ++votes[labels[static_cast<std::size_t>(i)]];
    Label best = labels[static_cast<std::size_t>(nearest.front())];
    for (const Index i : nearest) {
        const Label label = labels[static_cast<std::size_t>(i)];
        if (votes[label] > votes[best]) best = label;
    }
    return best;
}

}  // namespace

NeighbourVotes knn_votes(MatrixView<const double> known, std::span<const Label> labels,
                         MatrixView<const double> queries, Index k) {
    if (k < 1) throw InputError({"neighbours", std::to_string(k), "at least 1", ""});
    if (known.rows < 1 || static_cast<Index>(labels.size()) != known.rows || queries.cols != known.cols) {
        throw InputError({"nearest neighbours",
                          std::to_string(known.rows) + " known people with " + std::to_string(labels.size()) +
                              " labels and vectors of " + std::to_string(known.cols) + " and " +
                              std::to_string(queries.cols),
                          "a label for each, and vectors of one length", ""});
    }
    if (const double factor = safe_factor(known, queries); factor != 1) {
        return knn_votes(scaled(known, factor).view(), labels, scaled(queries, factor).view(), k);
    }
    NeighbourVotes votes{{labels.begin(), labels.end()}, {}, {}};
    std::sort(votes.classes.begin(), votes.classes.end());
    votes.classes.erase(std::unique(votes.classes.begin(), votes.classes.end()), votes.classes.end());
    votes.shares = Matrix<double>::zeros(queries.rows, static_cast<Index>(votes.classes.size()));
    votes.winners.resize(static_cast<std::size_t>(queries.rows));
    const Index count = std::min(k, known.rows);
    const auto norms = squared_norms(known);
    const auto products = product<double>(queries, known, Op::none, Op::transpose);
    parallel_for(queries.rows, [&](Index q) {
        // The query's own norm is the same for all and left out.
        const auto distance = [&](Index i) { return norms[static_cast<std::size_t>(i)] - 2 * products(q, i); };
        std::vector<Index> order(static_cast<std::size_t>(known.rows));
        std::iota(order.begin(), order.end(), Index{0});
        std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](Index a, Index b) {
            const double da = distance(a);
            const double db = distance(b);
            return da < db || (da == db && a < b);
        });
        const auto nearest = std::span<const Index>(order).first(static_cast<std::size_t>(count));
        votes.winners[static_cast<std::size_t>(q)] = vote(nearest, labels);
        for (const Index i : nearest) {
            const Label label = labels[static_cast<std::size_t>(i)];
            const auto at = std::lower_bound(votes.classes.begin(), votes.classes.end(), label);
            votes.shares(q, at - votes.classes.begin()) += 1 / static_cast<double>(count);
        }
    });
    return votes;
}

std::vector<Label> knn_classify(MatrixView<const double> known, std::span<const Label> labels,
                                MatrixView<const double> queries, Index k) {
    return knn_votes(known, labels, queries, k).winners;
}

double accuracy(std::span<const Label> truth, std::span<const Label> guessed) {
    if (truth.size() != guessed.size()) {
        throw InputError({"labels", std::to_string(guessed.size()), std::to_string(truth.size()) + " of them", ""});
    }
    if (truth.empty()) return 0;
    Index right = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) right += truth[i] == guessed[i] ? 1 : 0;
    return static_cast<double>(right) / static_cast<double>(truth.size());
}

}  // namespace couplet
