#pragma once

#include <string>
#include <vector>

#include "couplet/explain/evidence.hpp"

namespace couplet {

/// The labels that a component is named by: of each feature mode a few, of which every combination comes together more
/// often than chance. Empty: nothing of what the component weighs most does, or all of it names others already.
struct NamedLabels {
    std::vector<std::vector<Index>> labels = {};  ///< of each mode, in the order in which they were taken
    /// Without labels of its own: the earlier component whose labels its strongest cell has; -1: none.
    Index within = -1;
    bool empty() const noexcept { return labels.empty() || labels.front().empty(); }
};

/// The labels that name each of `rows` (components x features, in their order): from the cells of the largest positive
/// weights, as long as they have a third of the largest and every combination a quarter of the strongest; of the first
/// mode two, of the others three. A label is in no more than a third of the titles: a component that has no others is
/// no phenotype of its own.
std::vector<NamedLabels> name_components(const Matrix<double>& rows, const Evidence& evidence);

/// The cells that named labels stand for, in the order of the labels: one of each mode.
std::vector<std::vector<Index>> named_cells(const NamedLabels& labels);

}  // namespace couplet
