#include "couplet/explain/titles.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace couplet {
namespace {

constexpr double least_weight = 1.0 / 3;
constexpr double least_shared_weight = 0.25;  ///< of every combination, beside the strongest cell
constexpr std::size_t most_cells = 60;
constexpr Index titles_of_a_label = 3;  ///< a label is in one of so many titles at most

using Cell = std::vector<Index>;
/// How many titles have a label, by mode and label.
using Uses = std::map<std::pair<std::size_t, Index>, Index>;

Cell cell_at(const Shape& features, Index offset) {
    Cell cell;
    for (Index n = 0; n < features.order(); ++n) {
        cell.push_back(offset / features.product(n + 1, features.order()) % features[n]);
    }
    return cell;
}

/// Cells that may be named, the largest weight first.
std::vector<Cell> candidates(const double* row, const Evidence& evidence) {
    const Index size = evidence.features.size();
    std::vector<Index> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), Index{0});
    const auto kept = std::min(order.size(), most_cells);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Index a, Index b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    std::vector<Cell> cells;
    double largest = 0;
    for (std::size_t i = 0; i < kept; ++i) {
        const double weight = row[order[i]];
        Cell cell = cell_at(evidence.features, order[i]);
        if (weight <= 0 || weight < least_weight * largest) break;
        if (!come_together(evidence, cell)) continue;
        largest = std::max(largest, weight);
        cells.push_back(std::move(cell));
    }
    return cells;
}

std::size_t most_labels(std::size_t mode) { return mode == 0 ? 2 : 3; }

double weight_of(const double* row, const Shape& features, const Cell& cell) {
    Index offset = 0;
    for (std::size_t n = 0; n < cell.size(); ++n) offset = offset * features[static_cast<Index>(n)] + cell[n];
    return row[offset];
}

/// The labels with those of one more cell; nothing where they become too many, or where some combination of them does
/// not come together or weighs next to nothing beside the first.
bool take(const Cell& cell, const double* row, const Evidence& evidence, NamedLabels& named) {
    NamedLabels more = named;
    more.labels.resize(cell.size());
    for (std::size_t n = 0; n < cell.size(); ++n) {
        auto& labels = more.labels[n];
        if (std::find(labels.begin(), labels.end(), cell[n]) == labels.end()) labels.push_back(cell[n]);
        if (labels.size() > most_labels(n)) return false;
    }
    const auto cells = named_cells(more);
    const double first = weight_of(row, evidence.features, cells.front());
    const auto belongs = [&](const Cell& one) {
        return come_together(evidence, one) && weight_of(row, evidence.features, one) >= least_shared_weight * first;
    };
    if (!std::all_of(cells.begin(), cells.end(), belongs)) return false;
    named = std::move(more);
    return true;
}

NamedLabels name_one(const std::vector<Cell>& cells, const double* row, const Evidence& evidence, const Uses& uses,
                     Index most) {
    const auto spent = [&](const Cell& cell) {
        for (std::size_t n = 0; n < cell.size(); ++n) {
            const auto at = uses.find({n, cell[n]});
            if (at != uses.end() && at->second >= most) return true;
        }
        return false;
    };
    NamedLabels named;
    for (const Cell& cell : cells) {
        if (!spent(cell)) take(cell, row, evidence, named);
    }
    return named;
}

/// The first component with a label of this cell; -1: none.
Index owner_of(const Cell& cell, const std::vector<NamedLabels>& names) {
    for (std::size_t r = 0; r < names.size(); ++r) {
        for (std::size_t n = 0; n < names[r].labels.size(); ++n) {
            const auto& labels = names[r].labels[n];
            if (std::find(labels.begin(), labels.end(), cell[n]) != labels.end()) return static_cast<Index>(r);
        }
    }
    return -1;
}

/// Names of all components, each label in at most `most` of them; `largest` is the most that a label is in.
std::vector<NamedLabels> name_all(const Matrix<double>& rows, const Evidence& evidence,
                                  const std::vector<std::vector<Cell>>& cells, Index most, Index& largest) {
    Uses uses;
    std::vector<NamedLabels> names;
    for (std::size_t r = 0; r < cells.size(); ++r) {
        const double* row = rows.data() + static_cast<Index>(r) * rows.cols();
        NamedLabels named = name_one(cells[r], row, evidence, uses, most);
        if (named.empty() && !cells[r].empty()) named.within = owner_of(cells[r].front(), names);
        for (std::size_t n = 0; n < named.labels.size(); ++n) {
            for (const Index label : named.labels[n]) largest = std::max(largest, ++uses[{n, label}]);
        }
        names.push_back(std::move(named));
    }
    return names;
}

}  // namespace

std::vector<NamedLabels> name_components(const Matrix<double>& rows, const Evidence& evidence) {
    std::vector<std::vector<Cell>> cells;
    for (Index r = 0; r < rows.rows(); ++r) cells.push_back(candidates(rows.data() + r * rows.cols(), evidence));
    const auto titles = std::count_if(cells.begin(), cells.end(), [](const auto& one) { return !one.empty(); });
    for (Index most = std::max<Index>(1, titles / titles_of_a_label);; --most) {
        Index largest = 0;
        std::vector<NamedLabels> names = name_all(rows, evidence, cells, most, largest);
        const auto named = std::count_if(names.begin(), names.end(), [](const auto& one) { return !one.empty(); });
        // Those that got no name make a third of the titles less.
        if (most == 1 || largest <= std::max<Index>(1, named / titles_of_a_label)) return names;
    }
}

std::vector<std::vector<Index>> named_cells(const NamedLabels& labels) {
    if (labels.empty()) return {};
    std::vector<Cell> cells{{}};
    for (const auto& mode : labels.labels) {
        std::vector<Cell> longer;
        for (const Cell& cell : cells) {
            for (const Index label : mode) {
                longer.push_back(cell);
                longer.back().push_back(label);
            }
        }
        cells = std::move(longer);
    }
    return cells;
}

}  // namespace couplet
