#include "couplet/experiments/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {

std::vector<Series> series_of(const std::vector<Row>& rows) {
    std::vector<Series> all;
    for (const MethodStyle& style : method_styles()) {
        const std::size_t first = all.size();
        for (const Row& row : rows) {
            if (row.method != style.id) continue;
            auto at = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                                   [&](const Series& series) { return series.variant == row.variant; });
            if (at == all.end()) {
                all.push_back({row.method, row.variant, all.size() - first, {}});
                at = all.end() - 1;
            }
            at->rows.push_back(row);
        }
    }
    return all;
}

std::string variant_dash(std::size_t number) {
    constexpr std::array<const char*, 6> dashes{"", "7 3", "2 3", "8 3 2 3", "1 2", "12 4"};
    return dashes[number % dashes.size()];
}

Row drawn(const Figure& figure, Row row) {
    if (figure.y.log && row.y.mean >= 0 && row.y.mean < rounding_rse) row.y = {rounding_rse, 0, row.y.count};
    return row;
}

bool is_drawable(const Figure& figure, const Row& row) {
    const bool finite = std::isfinite(row.x) && std::isfinite(row.y.mean);
    const bool x_fits = !figure.x.log || figure.chart == Chart::dots || row.x > 0;
    return finite && x_fits && (!figure.y.log || row.y.mean > 0);
}

}  // namespace couplet
