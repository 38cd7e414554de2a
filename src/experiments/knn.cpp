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

std::vector<Label> knn_classify(MatrixView<const double> known, std::span<const Label> labels,
                                MatrixView<const double> queries, Index k) {
    if (k < 1) throw InputError({"neighbours", std::to_string(k), "at least 1", ""});
    if (known.rows < 1 || static_cast<Index>(labels.size()) != known.rows || queries.cols != known.cols) {
        throw InputError({"nearest neighbours",
                          std::to_string(known.rows) + " known people with " + std::to_string(labels.size()) +
                              " labels and vectors of " + std::to_string(known.cols) + " and " +
                              std::to_string(queries.cols),
                          "a label for each, and vectors of one length", ""});
    }
    const Index count = std::min(k, known.rows);
    const auto norms = squared_norms(known);
    const auto products = product<double>(queries, known, Op::none, Op::transpose);
    std::vector<Label> guessed(static_cast<std::size_t>(queries.rows));
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
        guessed[static_cast<std::size_t>(q)] = vote(std::span(order).first(static_cast<std::size_t>(count)), labels);
    });
    return guessed;
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
