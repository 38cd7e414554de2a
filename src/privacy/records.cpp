#include "couplet/privacy/records.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>

namespace couplet {

std::string record_key(std::span<const double> record, Likeness likeness) {
    constexpr std::uint64_t last_of_float = std::uint64_t{1} << 29;  // a float keeps 23 of 52 bits
    std::string key(record.size() * sizeof(double), '\0');
    char* to = key.data();
    for (const double value : record) {
        auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 becomes 0
        if (likeness == Likeness::rounded && std::isfinite(value)) {
            bits = (bits + last_of_float / 2) & ~(last_of_float - 1);
        }
        std::memcpy(to, &bits, sizeof bits);
        to += sizeof bits;
    }
    return key;
}

std::vector<Index> distinct_records(MatrixView<const double> rows) {
    std::vector<Index> distinct;
    std::unordered_set<std::string> seen;
    for (Index i = 0; i < rows.rows; ++i) {
        const double* row = rows.row(i);
        const bool empty = std::all_of(row, row + rows.cols, [](double v) { return v == 0 || std::isnan(v); });
        if (empty) continue;
        if (seen.insert(record_key({row, static_cast<std::size_t>(rows.cols)}, Likeness::exact)).second) {
            distinct.push_back(i);
        }
    }
    return distinct;
}

Index count_patients(const TensorView<const double>& x) {
    return static_cast<Index>(distinct_records(x.unfold(1)).size());
}

}  // namespace couplet
