#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Whole multiples of unknowns, by their number; together they are zero.
using Relation = std::map<Index, std::int64_t>;

/// Rows that agree within `tolerance` in every entry, by the number of the row; rows that are zero are in no group.
/// Rows must differ in their first entry where they differ, as those of generic numbers do. Cost: n log n.
std::vector<std::vector<Index>> equal_rows(MatrixView<const double> rows, double tolerance);

/// Rows a, b, c, d (some may be missing, two may be the same) with a + b = c + d within the tolerance: at most `most`.
/// Cost: n^2 log n, and n^2 numbers of memory.
std::vector<Relation> row_relations(MatrixView<const double> rows, double tolerance, std::size_t most);

/// Unknown integers of which relations are known, each told by free ones. Where a relation has no unknown that another
/// one's integers give (a coefficient of 1 or -1), it is left out.
class Elimination {
  public:
    explicit Elimination(Index unknowns);

    /// False: it follows from those before, or could not be used.
    bool add(const Relation& relation);
    std::vector<Index> free_unknowns() const;
    /// What makes up unknown i: multiples of free ones.
    const Relation& told(Index i) const { return told_[static_cast<std::size_t>(i)]; }

  private:
    std::vector<Relation> told_;
};

}  // namespace couplet
