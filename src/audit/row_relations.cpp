#include "couplet/audit/row_relations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

namespace couplet {
namespace {

// Coefficients beyond this come from relations that did not hold.
constexpr std::int64_t largest_multiple = 1 << 20;

/// The sum of two rows; `none` stands for a row of zeros.
struct Pair {
    double first = 0;  ///< first entry of the sum
    Index a = 0;
    Index b = 0;
};

double entry(MatrixView<const double> rows, Index i, Index j) { return i < rows.rows ? rows(i, j) : 0; }

bool same_sum(MatrixView<const double> rows, const Pair& one, const Pair& other, double tolerance) {
    for (Index j = 0; j < rows.cols; ++j) {
        const double left = entry(rows, one.a, j) + entry(rows, one.b, j);
        const double right = entry(rows, other.a, j) + entry(rows, other.b, j);
        if (!(std::abs(left - right) < tolerance)) return false;
    }
    return true;
}

std::vector<Pair> sums_of_pairs(MatrixView<const double> rows) {
    std::vector<Pair> pairs;
    pairs.reserve(static_cast<std::size_t>((rows.rows + 1) * (rows.rows + 2) / 2));
    for (Index a = 0; a < rows.rows; ++a) {
        for (Index b = a; b <= rows.rows; ++b) pairs.push_back({rows(a, 0) + entry(rows, b, 0), a, b});
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& x, const Pair& y) { return std::tie(x.first, x.a, x.b) < std::tie(y.first, y.a, y.b); });
    return pairs;
}

Relation difference(const Pair& one, const Pair& other, Index none) {
    Relation relation;
    const auto count = [&](Index row, std::int64_t times) {
        if (row == none) return;
        if ((relation[row] += times) == 0) relation.erase(row);
    };
    count(one.a, 1);
    count(one.b, 1);
    count(other.a, -1);
    count(other.b, -1);
    return relation;
}

void add_multiple(Relation& to, const Relation& from, std::int64_t times) {
    for (const auto& [unknown, coefficient] : from) {
        if ((to[unknown] += times * coefficient) == 0) to.erase(unknown);
    }
}

bool is_small(const Relation& relation) {
    return std::all_of(relation.begin(), relation.end(),
                       [](const auto& term) { return std::abs(term.second) < largest_multiple; });
}

}  // namespace

std::vector<std::vector<Index>> equal_rows(MatrixView<const double> rows, double tolerance) {
    std::vector<Index> order;
    for (Index i = 0; i < rows.rows; ++i) {
        const double* row = rows.row(i);
        if (std::any_of(row, row + rows.cols, [&](double v) { return std::abs(v) > tolerance; })) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return std::pair(rows(a, 0), a) < std::pair(rows(b, 0), b); });
    std::vector<std::vector<Index>> groups;
    for (const Index i : order) {
        const bool known =
            !groups.empty() && std::equal(rows.row(i), rows.row(i) + rows.cols, rows.row(groups.back().front()),
                                          [&](double x, double y) { return std::abs(x - y) < tolerance; });
        if (!known) groups.emplace_back();
        groups.back().push_back(i);
    }
    return groups;
}

std::vector<Relation> row_relations(MatrixView<const double> rows, double tolerance, std::size_t most) {
    const auto pairs = sums_of_pairs(rows);
    std::set<Relation> found;
    for (std::size_t i = 0; i < pairs.size() && found.size() < most; ++i) {
        for (std::size_t j = i + 1; j < pairs.size() && pairs[j].first - pairs[i].first < tolerance; ++j) {
            if (!same_sum(rows, pairs[i], pairs[j], tolerance)) continue;
            if (auto relation = difference(pairs[i], pairs[j], rows.rows); !relation.empty()) {
                found.insert(std::move(relation));
            }
        }
    }
    std::vector<Relation> relations(found.begin(), found.end());
    std::stable_sort(relations.begin(), relations.end(),
                     [](const Relation& a, const Relation& b) { return a.size() < b.size(); });
    return relations;
}

Elimination::Elimination(Index unknowns) : told_(static_cast<std::size_t>(unknowns)) {
    for (Index i = 0; i < unknowns; ++i) told_[static_cast<std::size_t>(i)][i] = 1;
}

bool Elimination::add(const Relation& relation) {
    Relation rest;
    for (const auto& [unknown, times] : relation) add_multiple(rest, told(unknown), times);
    // The first of them: what is numbered last stays free longest.
    std::optional<Index> pivot;
    for (const auto& [unknown, times] : rest) {
        if (!pivot && std::abs(times) == 1) pivot = unknown;
    }
    if (!pivot || !is_small(rest)) return false;
    const std::int64_t sign = rest.at(*pivot);
    rest.erase(*pivot);
    for (Relation& known : told_) {
        const auto at = known.find(*pivot);
        if (at == known.end()) continue;
        const std::int64_t times = at->second;
        known.erase(at);
        add_multiple(known, rest, -sign * times);
    }
    return true;
}

std::vector<Index> Elimination::free_unknowns() const {
    std::vector<Index> free;
    for (std::size_t i = 0; i < told_.size(); ++i) {
        const auto unknown = static_cast<Index>(i);
        if (told_[i].size() == 1 && told_[i].contains(unknown) && told_[i].at(unknown) == 1) free.push_back(unknown);
    }
    return free;
}

}  // namespace couplet
