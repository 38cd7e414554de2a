#include "couplet/privacy/records.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

namespace couplet {

std::vector<Index> distinct_records(MatrixView<const double> rows) {
    std::vector<Index> distinct;
    std::unordered_set<std::string_view> seen;
    for (Index i = 0; i < rows.rows; ++i) {
        const double* row = rows.row(i);
        const bool empty = std::all_of(row, row + rows.cols, [](double v) { return v == 0 || std::isnan(v); });
        if (empty) continue;
        const std::string_view bytes(reinterpret_cast<const char*>(row),
                                     static_cast<std::size_t>(rows.cols) * sizeof(double));
        if (seen.insert(bytes).second) distinct.push_back(i);
    }
    return distinct;
}

Index count_patients(const TensorView<const double>& x) {
    return static_cast<Index>(distinct_records(x.unfold(1)).size());
}

}  // namespace couplet
