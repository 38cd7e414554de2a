#include "couplet/experiments/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/experiments/svg.hpp"

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

std::vector<std::string> category_names(const std::vector<Row>& rows) {
    std::vector<std::string> names;
    for (const Row& row : rows) {
        if (std::find(names.begin(), names.end(), row.category) == names.end()) names.push_back(row.category);
    }
    return names;
}

void draw_grid(Svg& svg, const Scale& scale, std::optional<double> exact, double from, double to, double labels_below) {
    for (const Tick& tick : scale.ticks()) {
        if (exact && tick.value < 2 * *exact) continue;  // no number there means anything
        svg.line(scale.at(tick.value), from, scale.at(tick.value), to, "grid");
        if (labels_below > 0) {
            svg.text(scale.at(tick.value), to + labels_below, tick.label, "tick", Anchor::middle);
        }
    }
}

std::string variant_dash(std::size_t number) {
    constexpr std::array<const char*, 6> dashes{"", "7 3", "2 3", "8 3 2 3", "1 2", "12 4"};
    return dashes[number % dashes.size()];
}

std::string draw(const Figure& figure, const std::vector<Row>& rows) {
    if (figure.chart == Chart::lines) return draw_lines(figure, rows);
    return figure.x.label.empty() ? draw_dots(figure, rows) : draw_names(figure, rows);
}

DrawnRows drawn_rows(const Figure& figure, const std::vector<Row>& rows) {
    DrawnRows result;
    double least = std::numeric_limits<double>::infinity();
    for (const Row& row : rows) {
        const bool x_fits = !figure.x.log || figure.chart == Chart::dots || row.x > 0;
        const bool y_fits = std::isfinite(row.y.mean) && (!figure.y.log || row.y.mean >= 0);
        if (!std::isfinite(row.x) || !x_fits || !y_fits) continue;
        result.rows.push_back(row);
        if (row.y.mean >= rounding_rse) least = std::min(least, row.y.mean);
        if (row.paper && *row.paper > 0) least = std::min(least, *row.paper);
    }
    if (!figure.y.log) return result;
    const double floor = std::isfinite(least) ? least / 10 : rounding_rse;
    for (Row& row : result.rows) {
        if (row.y.mean >= rounding_rse) continue;
        row.y = {floor, 0, row.y.count};
        result.exact = floor;
    }
    return result;
}

}  // namespace couplet
