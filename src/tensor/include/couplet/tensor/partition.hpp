#pragma once

#include <algorithm>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// [0, size) cut into consecutive ranges: part p covers [begin(p), end(p)). The cuts depend on the arguments alone,
/// never on the number of threads, so that results do not depend on who does which part.
///
///     const auto rows = Partition::blocks(a.rows, 512);
///     parallel_for(rows.count(), [&](Index p) { work_on(a.rows_from(rows.begin(p), rows.length(p))); });
class Partition {
  public:
    /// `parts` ranges of about the same length, fewer where one would be shorter than `grain`, and at least one. Cuts
    /// lie on multiples of `grain`.
    static Partition even(Index size, Index parts, Index grain = 1) {
        return {size, size, std::clamp<Index>(parts, 1, std::max<Index>(1, size / grain)), grain};
    }
    /// Ranges of `length`, the last one of what is left; none of nothing.
    static Partition blocks(Index size, Index length) {
        const Index count = (size + length - 1) / length;
        return {size, count * length, count, 1};
    }

    Index count() const { return count_; }
    Index begin(Index p) const { return p == count_ ? size_ : shared_ * p / count_ / grain_ * grain_; }
    Index end(Index p) const { return begin(p + 1); }
    Index length(Index p) const { return end(p) - begin(p); }

  private:
    Partition(Index size, Index shared, Index count, Index grain)
        : size_(size), shared_(shared), count_(count), grain_(grain) {}

    Index size_;
    Index shared_;  ///< what the parts would cover if all were of the same length
    Index count_;
    Index grain_;
};

}  // namespace couplet
